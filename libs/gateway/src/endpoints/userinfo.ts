import type { FastifyReply, FastifyRequest } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { lacksIdentityScope, OAuthError } from '@tessera/oauth';
import type { Gateway } from '../gateway.ts';
import { challengeBearer, readBearer } from './bearer.ts';

/** `GET` and `POST /userinfo` (OIDC Core §5.3): the token comes in the Authorization header and nowhere else. */
export async function userinfo(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<object> {
  try {
    const accessToken = readBearer(request);
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
      challengeBearer(request, reply, error, lacksIdentityScope(error) ? 'openid' : '');
    }
    throw error;
  }
}
