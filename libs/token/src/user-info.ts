import type { DirectoryClient } from '@tessera/directory-client';
import type { CallContext } from '@tessera/rpc';
import {
  OAuthError,
  requireIdentityScope,
  userInfoClaims,
  type AccessTokenClaims,
  type UserInfoClaims,
} from '@tessera/oauth';
import type { UserInfoRequest } from '@tessera/proto-gen/token';
import { issuerOf } from './client-authentication.ts';
import type { TokenVerifier } from './verification/token-verifier.ts';

export interface UserInfoParts {
  readonly directory: DirectoryClient;
  readonly verifier: TokenVerifier;
  /** Undefined: the token must be of the issuer the request came to. */
  readonly issuer: string | undefined;
}

/**
 * The claims that an access token releases about its user (OIDC Core §5.3). Throws `invalid_token` for a token that is
 * not a live one of ours and for a user, application or tenant that is not active (RFC 6750 §3.1), and `insufficient_scope`
 * for a token without an identity scope, which every token of a client for itself is, and for a user who may not use the
 * application any more.
 */
export async function userInfo(
  { directory, verifier, issuer }: UserInfoParts,
  request: UserInfoRequest,
  context: CallContext,
): Promise<UserInfoClaims> {
  const claims = await verifier.accessToken(request.accessToken, () => context.onward());
  if (claims === undefined || claims.iss !== issuerOf(issuer, request.caller)) throw invalidToken();
  // Before the user is looked up: a client for itself has none, and its token is a good one.
  requireIdentityScope(claims.scope);
  const user = await findAdmittedUser(directory, claims, context);
  if (user === undefined) throw invalidToken();
  return userInfoClaims(user, claims.scope);
}

async function findAdmittedUser(directory: DirectoryClient, claims: AccessTokenClaims, context: CallContext) {
  const [client, user] = await Promise.all([
    directory.application(claims.client_id, context.onward()),
    directory.user(claims.tenant_id, claims.sub, context.onward()),
  ]);
  if (client === undefined || !directory.isActive(client, claims.iat)) return undefined;
  if (user === undefined || !directory.isActive(user, claims.iat)) return undefined;
  if (!directory.mayUse(client.application, user)) {
    throw new OAuthError('insufficient_scope', 'The access policy of the application forbids it.');
  }
  return user;
}

function invalidToken(): OAuthError {
  return new OAuthError('invalid_token', 'The access token is not valid.');
}
