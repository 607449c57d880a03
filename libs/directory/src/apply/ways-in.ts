import type { ApplicationRecord } from '../applications/fields.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import type { UserRecord } from '../users/fields.ts';

/** By what one can act as a person or an application. */
export interface WayIn {
  /** A key of the declared state. */
  readonly key: string;
  readonly value: string;
  /** Milliseconds since the Unix epoch. */
  readonly until: number;
}

/** Of a link that is mailed, the address is one, and so is that it is verified, by which a provider finds the person. */
export function waysInOfPerson({ passwordHash = '', email, standardClaims }: UserRecord): WayIn[] {
  return waysIn({
    password: [passwordHash],
    email: [email],
    emailVerified: [email !== '' && standardClaims.emailVerified === true ? 'true' : ''],
  });
}

/** What a person has at providers that the tenant has. */
export function waysInByProviders(
  { userId }: Pick<UserRecord, 'userId'>,
  { identities = [], providers }: Pick<TenantState, 'identities' | 'providers'>,
): WayIn[] {
  const values = identities
    .filter((own) => own.userId === userId)
    .filter((own) => providers.some(({ name, issuer }) => name === own.provider && issuer === own.issuer))
    .map(({ provider, issuer }) => `${provider} ${issuer}`);
  return waysIn({ providers: values });
}

/** What proves to be the application, what its tokens are sent to, what approves for people, whether they are asked, and how it asks for tokens. */
export function waysInOfApplication(application: ApplicationRecord): WayIn[] {
  const { type, grantTypes, redirectUris, loopbackPorts, ciba, secrets, thirdParty } = application;
  return [
    ...secrets.map(({ digest, expiresAt = Infinity }) => ({
      key: 'secrets',
      value: digest,
      until: expiresAt,
    })),
    ...waysIn({
      type: [type === 'public' ? type : ''],
      grantTypes,
      redirectUris,
      loopbackPorts: [loopbackPorts === 'any' ? loopbackPorts : ''],
      ciba: [ciba.url, ciba.notificationEndpoint],
      thirdParty: [thirdParty ? '' : 'false'],
    }),
  ];
}

/** The keys of the ways that were not there before, or not as long; what is taken away is none. */
export function newWaysIn(before: readonly WayIn[], after: readonly WayIn[]): string[] {
  const added = after.filter(
    ({ key, value, until }) =>
      !before.some((way) => way.key === key && way.value === value && way.until >= until),
  );
  return [...new Set(added.map(({ key }) => key))];
}

/** By key; empty texts are none. */
function waysIn(values: Readonly<Record<string, readonly string[]>>): WayIn[] {
  return Object.entries(values).flatMap(([key, texts]) =>
    texts.filter((value) => value !== '').map((value) => ({ key, value, until: Infinity })),
  );
}
