import {
  ApplicationSchema,
  ApplicationType,
  Status,
  TenantIssuerSchema,
  TenantSchema,
  UserSchema,
  type Application,
  type Tenant,
  type TenantIssuer,
  type User,
} from '@tessera/proto-gen/directory';
import { emptyFields, type FieldsOf } from '@tessera/rpc/testing';

/** An application as services read it, and the secret it authenticates with. */
export interface FakeApplication extends FieldsOf<Application> {
  lifetimes: NonNullable<FieldsOf<Application>['lifetimes']>;
  secret: string;
  /** Seconds since the Unix epoch; 0 if it does not expire. */
  secretExpiresAt: bigint;
}

/** A user as services read it, and what the person signs in with. */
export interface FakeUser extends Omit<FieldsOf<User>, 'secondFactors'> {
  password: string;
  /** The code that the person's authenticator app shows, each time; absent for a person without one. */
  totpCode?: string;
  /** Whether the person has a passkey: it answers with `passkeyAnswer`. */
  hasPasskey?: boolean;
  /** Whether the browser makes the passkey by itself, without asking anybody. */
  makesPasskeysAlone?: boolean;
  passkeyName?: string;
  /** A code in place of the app or the passkey, each time; absent for a person without one. */
  recoveryCode?: string;
  /** Seed of the recovery codes that the person has kept. */
  adopted?: string;
}

/** A tenant as services read it, and what they read of its issuer. */
export type FakeTenant = FieldsOf<Tenant> & FieldsOf<TenantIssuer>;

/** The secret of an application that was added without one. */
export const secretOf = (clientId: string): string => `${clientId}-secret-0123456789-0123456789`;

export function newTenant(tenantId: string, fields: Partial<FakeTenant>): FakeTenant {
  const empty = { ...emptyFields(TenantIssuerSchema), ...emptyFields(TenantSchema) };
  return { ...empty, tenantId, name: tenantId, status: Status.ACTIVE, ...fields };
}

export function newApplication(clientId: string, fields: Partial<FakeApplication>): FakeApplication {
  return {
    ...emptyFields(ApplicationSchema),
    clientId,
    tenantId: 'acme',
    name: clientId,
    type: ApplicationType.CONFIDENTIAL,
    status: Status.ACTIVE,
    authenticationPolicy: 'any',
    lifetimes: {},
    secret: secretOf(clientId),
    secretExpiresAt: 0n,
    ...fields,
  };
}

export function newUser(userId: string, fields: Partial<FakeUser>): FakeUser {
  return {
    ...emptyFields(UserSchema),
    userId,
    tenantId: 'acme',
    username: userId,
    password: '',
    status: Status.ACTIVE,
    ...fields,
  };
}

/** The user as services read it. What is not part of the message stays behind when the answer is made. */
export function userMessage(user: FakeUser): FieldsOf<User> {
  const { totpCode, hasPasskey } = user;
  const secondFactors = [
    ...(totpCode === undefined ? [] : ['totp']),
    ...(hasPasskey === true ? ['passkey'] : []),
  ];
  return { ...structuredClone(user), secondFactors };
}

/** A change of a record: other fields, or what changes a copy of it. */
export type Edit<T> = Partial<T> | ((record: T) => void);

/** A changed copy: a record that a service has read stays as it was. */
export function edited<T>(record: T | undefined, edit: Edit<T>): T {
  if (record === undefined) throw new Error('there is no such record');
  const copy = structuredClone(record);
  if (typeof edit === 'function') edit(copy);
  else Object.assign(copy as object, edit);
  return copy;
}
