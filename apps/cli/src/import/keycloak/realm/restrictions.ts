import { secondFactor, type SignInFlows } from './sign-in-flows.ts';
import type { Report } from './realm.ts';
import type { Client, Realm } from './representation.ts';

/** What people who import decide. */
export interface Choices {
  /** Whether what restricts somebody or something, and has no counterpart, may be left out alone. */
  readonly acceptsWider: boolean;
  /** Whether redirect URIs with a wildcard after a slash come as their beginnings. */
  readonly keepsWildcards?: boolean | undefined;
}

/** What narrows a client of Keycloak and has no counterpart here. */
const restrictions: readonly (readonly [what: string, applies: (of: Client['attributes']) => boolean])[] = [
  ['tokens that are bound to a key (DPoP)', (of) => of['dpop.bound.access.tokens'] === 'true'],
  [
    'tokens that are bound to a certificate',
    (of) => of['tls.client.certificate.bound.access.tokens'] === 'true',
  ],
  // As some versions write it.
  [
    'tokens that are bound to a certificate',
    (of) => of['tls-client-certificate-bound-access-tokens'] === 'true',
  ],
  ['requests that must be pushed', (of) => of['require.pushed.authorization.requests'] === 'true'],
  [
    'requests that must be signed',
    ({ 'request.object.required': required = '' }) => required !== '' && required !== 'not required',
  ],
  ['ID tokens that are encrypted', (of) => (of['id.token.encrypted.response.alg'] ?? '') !== ''],
];

/** Levels of authentication, which Keycloak's flows give a meaning. */
const levels = ['default.acr.values', 'minimum.acr.value'] as const;

/** How a client is narrowed, but for its roles. */
export interface Narrowed {
  /** Of the declared state; undefined if any sign-in will do. */
  readonly policy: string | undefined;
  /** Why the application comes disabled. */
  readonly reasons: readonly string[];
}

/** What the flows of a realm are read with. */
interface OfRealm extends Choices {
  readonly realm: Realm;
  readonly flows: SignInFlows;
}

/** Reads what narrows a client. Reports what of it is left out by choice. */
export function narrowedBy(
  client: Client,
  { realm, flows, acceptsWider, hasPeople }: OfRealm & { readonly hasPeople: boolean },
  report: Report,
): Narrowed {
  const { clientId, attributes } = client;
  const { browser: override = '' } = client.authenticationFlowBindingOverrides;
  const applying = restrictions.flatMap(([what, applies]) => (applies(attributes) ? [what] : []));
  const found = [...new Set(applying)];
  const asked = levels.flatMap((level) => ((attributes[level] ?? '') === '' ? [] : [level]));
  const { policy, denies } = flows.of(override === '' ? realm.browserFlow : override);
  if (hasPeople) {
    for (const level of asked) found.push(`a level of sign-in (${level})`);
    if (denies) found.push('a sign-in flow that denies people');
    else if (override !== '' && policy === 'unknown') found.push('a sign-in flow of its own');
  }
  if (acceptsWider)
    for (const what of found) report(`${what} of application ${clientId}: has no counterpart; accepted`);
  return {
    policy: hasPeople && policy !== 'any' ? policyFor(policy, override !== '', acceptsWider) : undefined,
    reasons: acceptsWider ? [] : found.map((what) => `there is no counterpart of ${what}`),
  };
}

/** An unknown flow of the realm is no reason to disable everything: a second factor is asked for in its place. */
function policyFor(policy: string, isOwn: boolean, acceptsWider: boolean): string | undefined {
  if (policy !== 'unknown') return policy;
  return isOwn || acceptsWider ? undefined : secondFactor;
}

/** Reports a sign-in flow of the realm that is not known here. */
export function reportFlow({ realm, flows, acceptsWider }: OfRealm, report: Report): void {
  const { browserFlow } = realm;
  if (flows.of(browserFlow).policy !== 'unknown') return;
  const instead = acceptsWider ? 'accepted' : 'applications ask for a second factor instead';
  report(`sign-in flow ${browserFlow}: has steps that are not known here; ${instead}`);
}
