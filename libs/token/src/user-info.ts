import type { DirectoryClient } from '@tessera/directory-client';
import type { CallContext } from '@tessera/rpc';
import {
  entitledClaims,
  issuesLikeKeycloak,
  mappedClaims,
  namedRoles,
  OAuthError,
  requireIdentityScope,
  userInfoClaims,
  type AccessTokenClaims,
  type UserInfoClaims,
} from '@tessera/oauth';
import type { UserInfoRequest } from '@tessera/proto-gen/token';
import { issuerOf } from './requested-issuer.ts';
import type { TokenVerifier } from './verification/token-verifier.ts';

export interface UserInfoDeps {
  readonly directory: DirectoryClient;
  readonly verifier: TokenVerifier;
  /** Undefined: the token must be of the issuer the request was sent to. */
  readonly issuer: string | undefined;
}

/**
 * The UserInfo claims of an access token (OIDC Core §5.3). Throws `invalid_token` if the token is not valid or its
 * user, application or tenant is not active (RFC 6750 §3.1). Throws `insufficient_scope` if the token has no identity
 * scope, as with client credentials, or the user may no longer use the application.
 */
export async function userInfo(
  { directory, verifier, issuer }: UserInfoDeps,
  request: UserInfoRequest,
  context: CallContext,
): Promise<UserInfoClaims> {
  const claims = await verifier.accessToken(request.accessToken, () => context.onward());
  if (claims === undefined || claims.iss !== issuerOf(issuer, request.caller)) throw invalidToken();
  // Checked before the user is looked up: a token of the client credentials grant has no user, but is valid.
  requireIdentityScope(claims.scope);
  const active = await findActive(directory, claims, context);
  if (active === undefined) throw invalidToken();
  const { user, application, tenant } = active;
  const requested = entitledClaims(claims.userinfo_claims ?? [], application.scopes);
  return {
    ...mappedClaims(
      application.claims,
      { ...user, roles: namedRoles(user.roles, application.roles) },
      'userinfo',
      issuesLikeKeycloak(tenant),
    ),
    ...userInfoClaims(user, claims.scope, requested),
  };
}

async function findActive(directory: DirectoryClient, claims: AccessTokenClaims, context: CallContext) {
  const [client, user] = await Promise.all([
    directory.application(claims.client_id, context.onward()),
    directory.user(claims.tenant_id, claims.sub, context.onward()),
  ]);
  if (client === undefined || !directory.isActive(client, claims.iat)) return undefined;
  if (user === undefined || !directory.isActive(user, claims.iat)) return undefined;
  if (!directory.mayUse(client.application, user)) {
    throw new OAuthError('insufficient_scope', 'The access policy of the application forbids it.');
  }
  return { user, ...client };
}

function invalidToken(): OAuthError {
  return new OAuthError('invalid_token', 'The access token is not valid.');
}
