import type { FastifyReply, FastifyRequest } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { bearerChallenge, bearerToken, lacksIdentityScope, OAuthError, triesBearer } from '@tessera/oauth';
import { mediaType } from '@tessera/pages';
import type { Gateway } from '../gateway.ts';
import { readBody } from '../http/body.ts';

/**
 * `GET` and `POST /userinfo` (OIDC Core §5.3): the token comes in the Authorization header, or in the form body of a
 * `POST`.
 */
export async function userinfo(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<object> {
  let posted: string | undefined;
  try {
    posted = postedToken(request);
    const accessToken = posted ?? bearerToken(request.headers.authorization);
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
      ...claims.claims,
    };
  } catch (error) {
    if (error instanceof OAuthError) {
      const needed = lacksIdentityScope(error) ? { scope: 'openid' } : {};
      const tried = posted !== undefined || triesBearer(request.headers.authorization);
      const challenge = bearerChallenge(error, needed, tried);
      if (challenge !== undefined) reply.header('www-authenticate', challenge);
    }
    throw error;
  }
}

/**
 * The access token of a form body (RFC 6750 §2.2); undefined without one. Throws `invalid_request` if the header has
 * one too.
 */
function postedToken(request: FastifyRequest): string | undefined {
  const { headers, body, method } = request;
  if (method !== 'POST' || mediaType(headers['content-type']) !== 'form') return undefined;
  if (!Buffer.isBuffer(body) || body.length === 0) return undefined;
  const token = readBody(request, ['form']).parameters.get('access_token') ?? '';
  if (token === '') return undefined;
  if (headers.authorization === undefined) return token;
  throw new OAuthError(
    'invalid_request',
    'Send the access token in the Authorization header or in the body, not in both.',
  );
}
