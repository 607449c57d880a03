import type { DirectoryClient } from '@tessera/directory-client';
import {
  builtInScopes,
  grantResourcesFor,
  grantScopes,
  issuesLikeKeycloak,
  narrowScopes,
  requireResource,
  resourcesIn,
} from '@tessera/oauth';
import type { User } from '@tessera/proto-gen/directory';
import type { UserGrant } from '@tessera/proto-gen/oauth';
import { oauthError } from '../audit.ts';
import { invalidClient } from '../authenticate-client.ts';
import { acceptsSignIn, isOfIssuer } from '../usable.ts';
import type { Exchange } from './grant-table.ts';

/**
 * Throws `invalid_grant` for a grant of another issuer than that of the tenant, or for a tenant without one than the
 * configured one, even if it was the right one before.
 */
export function requireIssuer(
  configured: string | undefined,
  { tenant }: Pick<Exchange, 'tenant'>,
  grant: UserGrant | undefined,
): void {
  if (grant === undefined || isOfIssuer(configured, tenant, grant)) return;
  throw oauthError('invalid_grant', 'The grant is no longer valid.', 'issuer_mismatch');
}

/**
 * Checks that application, tenant and user are active now and have been since the grant, that their policies accept the
 * sign-in, and that the user may use the application. Resolves with the user of the grant; undefined if the client acts
 * on its own behalf.
 */
export async function requireActive(
  directory: DirectoryClient,
  { application: { clientId, tenantId }, call }: Exchange,
  grant: UserGrant | undefined,
): Promise<{ grant: UserGrant; user: User } | undefined> {
  const client = await directory.application(clientId, call());
  if (client === undefined || !directory.isActive(client)) throw invalidClient('application_inactive');
  if (grant === undefined) return undefined;
  const user = await directory.user(tenantId, grant.userId, call());
  if (user === undefined || !directory.isActive(user)) {
    throw oauthError('invalid_grant', 'The grant is no longer valid.', 'user_inactive');
  }
  // Disabled, locked or given a new password after the grant, even if enabled again since.
  const signedInAt = grant.authentication?.time ?? 0;
  if (!directory.isActive(user, signedInAt) || !directory.isActive(client, signedInAt)) {
    throw oauthError('invalid_grant', 'The grant is no longer valid.', 'ended_since');
  }
  if (!acceptsSignIn(client, grant.authentication)) {
    throw oauthError('invalid_grant', 'The grant is no longer valid.', 'too_few_factors');
  }
  if (!directory.mayUse(client.application, user)) {
    throw oauthError('invalid_grant', 'The grant is no longer valid.', 'role_missing');
  }
  return { grant, user };
}

/**
 * Decides scope and resource of the access token, or its resources (`resourcesIn`). A client on its own behalf gets
 * what it requests and is allowed. A user's grant is the upper bound: the request may narrow it, and scopes that the
 * application has lost since, or that belong to another API resource now, are left out. Throws `invalid_target` for a
 * resource of which the application has no scope.
 */
export function decideScopes(
  { application, tenant, request, requestedScopes: requested }: Exchange,
  grant: UserGrant | undefined,
): { scopes: string[]; resource: string } {
  const { scopes: available, defaultScopes: always } = application;
  const likeKeycloak = issuesLikeKeycloak(tenant);
  if (grant === undefined) {
    const { resource } = request;
    return grantScopes({ requested, resource, available, always, person: false, likeKeycloak });
  }
  const resources = grantResourcesFor(request.resource, available);
  const [named = ''] = resources;
  if (resources.length > 0 && !resources.includes(grant.resource)) {
    const message = 'The resource is not the one of the original grant.';
    throw oauthError('invalid_target', message, 'resource_mismatch');
  }
  // The person has not been asked about it.
  if (application.thirdParty && named !== '' && named !== grant.resource) {
    const message = 'The resource is not the one of the original grant.';
    throw oauthError('invalid_target', message, 'resource_mismatch');
  }
  const audienceOf = new Map(available.map((scope) => [scope.name, scope.audience]));
  const several = likeKeycloak ? resourcesIn(grant.resource) : [];
  const isOf = (resource: string) => (name: string) => audienceOf.get(name) === resource;
  const isGranted = (name: string) => [grant.resource, ...several].some((resource) => isOf(resource)(name));
  const remaining = grant.scopes.filter((name) =>
    builtInScopes.has(name) ? audienceOf.has(name) : isGranted(name),
  );
  const scopes = narrowScopes(remaining, requested, always);
  if (scopes.length === 0) throw oauthError('invalid_scope', 'No granted scope is left.', 'scope_withdrawn');
  if (several.length > 1)
    return { scopes, resource: several.filter((each) => scopes.some(isOf(each))).join(' ') };
  const resource = requireResource(named === '' ? resourceOf(grant, scopes) : named, available);
  return { scopes, resource };
}

/**
 * The resource of an access token whose request names none. A grant that has a resource without scopes of it names the
 * resource of the authorization request; any other token without API scopes is for the issuer.
 */
function resourceOf(grant: UserGrant, scopes: readonly string[]): string {
  const identityAlone = (names: readonly string[]) => names.every((name) => builtInScopes.has(name));
  return identityAlone(scopes) && !identityAlone(grant.scopes) ? '' : grant.resource;
}
