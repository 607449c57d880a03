import type { FastifyReply, FastifyRequest } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { lacksIdentityScope, OAuthError } from '@tessera/oauth';
import type { Gateway } from '../gateway.ts';

/** `GET` and `POST /userinfo` (OIDC Core §5.3): the token comes in the Authorization header and nowhere else. */
export async function userinfo(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<object> {
  try {
    const { authorization } = request.headers;
    const accessToken = readBearer(authorization);
    const claims = await gateway.peers.token.userInfo(
      { caller: request.incoming.caller(), accessToken },
      rootCall(request.incoming.requestId),
    );
    reply.header('cache-control', 'no-store');
    return {
      sub: claims.sub,
      ...(claims.name === undefined ? {} : { name: claims.name }),
      ...(claims.email === undefined ? {} : { email: claims.email }),
      ...(claims.phoneNumber === undefined ? {} : { phone_number: claims.phoneNumber }),
    };
  } catch (error) {
    if (error instanceof OAuthError) challenge(request, reply, error);
    throw error;
  }
}

function readBearer(authorization: string | undefined): string {
  const token = /^bearer +([A-Za-z0-9\-._~+/]+=*)$/i.exec(authorization ?? '')?.[1];
  if (token === undefined) throw new OAuthError('invalid_token', 'A bearer access token is required.');
  return token;
}

/** RFC 6750 §3: a request that did not try a bearer token is not told an error code. */
function challenge(request: FastifyRequest, reply: FastifyReply, error: OAuthError): void {
  if (error.status !== 401 && error.status !== 403) return;
  const tried = /^bearer\b/i.test(request.headers.authorization ?? '');
  const detail = tried ? `, error="${error.code}", error_description="${quotable(error.message)}"` : '';
  const scope = lacksIdentityScope(error) ? ', scope="openid"' : '';
  reply.header('www-authenticate', `Bearer realm="tessera"${detail}${scope}`);
}

/** The characters RFC 6750 §3 allows in `error_description`. */
function quotable(text: string): string {
  return text.replace(/[^\x20-\x21\x23-\x5b\x5d-\x7e]/g, '');
}
