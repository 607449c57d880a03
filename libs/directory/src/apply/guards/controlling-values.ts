import type { ApplicationRecord } from '../../applications/fields.ts';
import { keyOfTrust } from '../../applications/trusts.ts';
import type { TenantState } from '../../plans/tenant-state.ts';
import type { UserRecord } from '../../users/fields.ts';

/** A value of a record by which whoever has or controls it acts as the person or the application. */
export interface ControllingValue {
  /** A key of the declared state. */
  readonly key: string;
  readonly value: string;
  /** Milliseconds since the Unix epoch. */
  readonly until: number;
}

/**
 * Of a link that is mailed, the address is one, and so is that it is verified, by which a provider finds the person.
 */
export function valuesControllingPerson({
  passwordHash = '',
  declaredTotp = '',
  declaredPasskeys = [],
  declaredIdentities = [],
  email,
  standardClaims,
}: UserRecord): ControllingValue[] {
  return valuesOf({
    password: [passwordHash],
    totp: [declaredTotp],
    passkeys: declaredPasskeys,
    identities: declaredIdentities,
    email: [email],
    emailVerified: [email !== '' && standardClaims.emailVerified === true ? 'true' : ''],
  });
}

/** What a person has at providers that the tenant has. */
export function valuesOfProviders(
  { userId }: Pick<UserRecord, 'userId'>,
  { identities = [], providers }: Pick<TenantState, 'identities' | 'providers'>,
): ControllingValue[] {
  const values = identities
    .filter((own) => own.userId === userId)
    .filter((own) => providers.some(({ name, issuer }) => name === own.provider && issuer === own.issuer))
    .map(({ provider, issuer }) => `${provider} ${issuer}`);
  return valuesOf({ providers: values });
}

/**
 * What proves to be the application, what its tokens are sent to, what approves for people, whether they are asked, and
 * how it asks for tokens.
 */
export function valuesControllingApplication(application: ApplicationRecord): ControllingValue[] {
  const { type, grantTypes, redirectUris, redirectUriPrefixes, loopbackPorts, ciba, secrets, thirdParty } =
    application;
  const { publicKeys, jwksUri, trusts } = application;
  return [
    ...secrets.map(({ digest, expiresAt = Infinity }) => ({
      key: 'secrets',
      value: digest,
      until: expiresAt,
    })),
    ...valuesOf({
      type: [type === 'public' ? type : ''],
      grantTypes,
      redirectUris,
      redirectUriPrefixes,
      loopbackPorts: [loopbackPorts === 'any' ? loopbackPorts : ''],
      ciba: [ciba.url, ciba.notificationEndpoint],
      thirdParty: [thirdParty ? '' : 'false'],
      publicKeys: publicKeys.map((key) => JSON.stringify(key)),
      jwksUri: [jwksUri],
      trusts: trusts.map(keyOfTrust),
    }),
  ];
}

/** The keys of the values that were not there before, or not as long; what is taken away gives nobody control. */
export function newlyControlling(
  before: readonly ControllingValue[],
  after: readonly ControllingValue[],
): string[] {
  const added = after.filter(
    ({ key, value, until }) =>
      !before.some((known) => known.key === key && known.value === value && known.until >= until),
  );
  return [...new Set(added.map(({ key }) => key))];
}

/** By key; empty texts are none. */
function valuesOf(values: Readonly<Record<string, readonly string[]>>): ControllingValue[] {
  return Object.entries(values).flatMap(([key, texts]) =>
    texts.filter((value) => value !== '').map((value) => ({ key, value, until: Infinity })),
  );
}
