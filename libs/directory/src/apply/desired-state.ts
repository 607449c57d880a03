import {
  applicationFields,
  type ApplicationRecord,
  type DeclaredApplication,
} from '../applications/fields.ts';
import type { SecretRecord } from '../applications/secrets.ts';
import type { DeclaredTenant } from '../declared/schema.ts';
import { desiredOf } from '../fields/field.ts';
import { standardClaimsOf } from '../users/standard-claims.ts';
import type { ClientSecrets } from '../credentials/client-secrets.ts';
import type { TenantState } from '../store/records.ts';
import { tenantFields } from '../tenants/fields.ts';
import { userFields, type DeclaredUser, type UserRecord } from '../users/fields.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';

export interface DesiredOptions {
  readonly secrets: ClientSecrets;
  /** By normalized user name, for users with a declared password or hash. */
  readonly passwordHashes: ReadonlyMap<string, string>;
  readonly newUserId: () => string;
}

/**
 * The desired state of a tenant. The declared state is the whole of the tenant, except that an undeclared status or password
 * stays as it is, so that applying a file again never enables what was disabled.
 */
export function desiredState(
  declared: DeclaredTenant,
  current: TenantState | undefined,
  options: DesiredOptions,
): TenantState {
  const users = new Map(current?.users.map((user) => [normalizeIdentifier(user.username), user]));
  const applications = new Map(
    current?.applications.map((application) => [application.clientId, application]),
  );
  return {
    tenant: { tenantId: declared.id, ...desiredOf(tenantFields, declared, current?.tenant) },
    resources: declared.resources,
    roles: declared.roles,
    users: declared.users.map((user) =>
      desiredUser(user, users.get(normalizeIdentifier(user.username)), options),
    ),
    applications: declared.applications.map((application) =>
      desiredApplication(declared.id, application, applications.get(application.clientId), options.secrets),
    ),
  };
}

function desiredUser(
  declared: DeclaredUser,
  current: UserRecord | undefined,
  { passwordHashes, newUserId }: DesiredOptions,
): UserRecord {
  return {
    userId: current?.userId ?? newUserId(),
    ...desiredOf(userFields, declared, current),
    standardClaims: standardClaimsOf(declared),
    passwordHash: passwordHashes.get(normalizeIdentifier(declared.username)) ?? current?.passwordHash,
  };
}

function desiredApplication(
  tenantId: string,
  declared: DeclaredApplication,
  current: ApplicationRecord | undefined,
  secrets: ClientSecrets,
): ApplicationRecord {
  const { clientId } = declared;
  const known = current?.secrets.map(({ digest }) => digest) ?? [];
  const age = ({ digest }: SecretRecord) => (known.includes(digest) ? known.indexOf(digest) : known.length);
  return {
    ...desiredOf(applicationFields, declared, current),
    secrets: declared.secrets
      .map((secret) => ({
        digest: secrets.digest(tenantId, clientId, secret.value),
        expiresAt: secret.expiresAt,
      }))
      .sort((left, right) => age(left) - age(right)),
  };
}
