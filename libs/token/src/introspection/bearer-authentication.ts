import type { DirectoryClient } from '@tessera/directory-client';
import type { AuthenticateBearer } from '@tessera/rpc';
import { introspectionScope, OAuthError } from '@tessera/oauth';
import { isOwnIssuer } from '../requested-issuer.ts';
import type { TokenVerifier } from '../verification/token-verifier.ts';

export interface BearerDeps {
  readonly directory: DirectoryClient;
  readonly verifier: TokenVerifier;
  /** Undefined: any issuer of this server. */
  readonly issuer: string | undefined;
}

/**
 * Authenticates a client by an access token of the client credentials grant with the scope `tokens.introspect` and this
 * server as audience. The client must still be active and have the scope. Throws `invalid_token` or
 * `insufficient_scope`.
 */
export function bearerAuthentication({ directory, verifier, issuer }: BearerDeps): AuthenticateBearer {
  return async (accessToken, call) => {
    const claims = await verifier.accessToken(accessToken, () => call);
    if (claims === undefined || !(await isOwnIssuer({ issuer, directory }, claims.iss))) throw invalidToken();
    if (!claims.scope.includes(introspectionScope)) throw insufficientScope();
    const { client_id: clientId } = claims;
    if (claims.aud !== claims.iss || claims.sub !== clientId) throw invalidToken();
    const record = await directory.application(clientId, call);
    if (record === undefined || !directory.isActive(record)) throw invalidToken();
    if (!record.application.scopes.some(({ name }) => name === introspectionScope)) throw insufficientScope();
    return {
      caller: 'introspector',
      principal: { kind: 'client', id: clientId, expiresAt: claims.exp },
      scopes: [introspectionScope],
    };
  };
}

function invalidToken(): OAuthError {
  return new OAuthError('invalid_token', 'The access token is not valid.');
}

function insufficientScope(): OAuthError {
  const message = `The access token does not have the scope ${introspectionScope}.`;
  return new OAuthError('insufficient_scope', message);
}
