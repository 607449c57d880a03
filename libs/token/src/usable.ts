import { isActive, mayUse, type ApplicationRecord } from '@tessera/directory-client';
import { meetsPolicy } from '@tessera/oauth';
import type { Application, Tenant, User } from '@tessera/proto-gen/directory';
import type { UserGrant } from '@tessera/proto-gen/oauth';

/**
 * Whether a refresh of a grant would be accepted: application, tenant and person are active and have been since the
 * sign-in, which their policies accept, the person may use the application, and the application refresh tokens.
 * Undefined: there is no such record.
 */
export function isUsable(
  client: ApplicationRecord | undefined,
  user: User | undefined,
  grant: Pick<UserGrant, 'authentication' | 'scopes'>,
): boolean {
  const { authentication } = grant;
  const signedInAt = authentication?.time ?? 0;
  if (client === undefined || !isActive(client, signedInAt)) return false;
  if (user === undefined || !isActive(user, signedInAt)) return false;
  if (!acceptsSignIn(client, authentication)) return false;
  return mayUse(client.application, user) && mayUseRefreshTokens(client.application, grant);
}

/**
 * Whether the policies of today accept a sign-in. Of an approval without one, by a webhook, only that of the
 * application asks: it says whether webhooks approve.
 */
export function acceptsSignIn(
  { application, tenant }: Pick<ApplicationRecord, 'application' | 'tenant'>,
  authentication: UserGrant['authentication'],
): boolean {
  const { methods = [] } = authentication ?? {};
  const asking = methods.length === 0 ? [application] : [application, tenant];
  return asking.every(({ authenticationPolicy }) => meetsPolicy(authenticationPolicy, methods));
}

/** Whether refresh tokens of a grant live no longer than its session: `offline_access` lets them live without one. */
export function isOfSession({ scopes }: Pick<UserGrant, 'scopes'>): boolean {
  return !scopes.includes('offline_access');
}

/** Whether an application may obtain and use refresh tokens of a grant: it has the grant type, and its scope. */
export function mayUseRefreshTokens(
  { grantTypes, scopes }: Application,
  grant: Pick<UserGrant, 'scopes'>,
): boolean {
  if (!grantTypes.includes('refresh_token')) return false;
  return isOfSession(grant) || scopes.some(({ name }) => name === 'offline_access');
}

/**
 * Whether a grant is of the issuer that its tenant has now.
 * @param configured the shared issuer; undefined if each request has the issuer of its host
 */
export function isOfIssuer(
  configured: string | undefined,
  tenant: Pick<Tenant, 'issuer'>,
  grant: Pick<UserGrant, 'issuer'>,
): boolean {
  const expected = tenant.issuer === '' ? configured : tenant.issuer;
  return grant.issuer === (expected ?? grant.issuer);
}
