import type { FastifyReply, FastifyRequest } from 'fastify';
import { epochSeconds } from '@tessera/kit';
import { rootCall } from '@tessera/rpc';
import {
  bearerToken,
  forwardAuthChallenge,
  identityHeaders,
  OAuthError,
  requireDemanded,
  routeDemand,
} from '@tessera/oauth';
import { TokenKind } from '@tessera/proto-gen/token';
import { readQuery } from '@tessera/pages';
import type { Gateway } from '../gateway.ts';

/**
 * `GET /auth/verify` answers a proxy (nginx `auth_request`, Traefik `forwardAuth`, Caddy `forward_auth`) whether the
 * access token in the Authorization header may pass: 200 with headers that describe the caller, 401 or 403 with a
 * challenge (RFC 6750 §3, RFC 9470 §3). Query: `audience`, and optionally `scope`, `tenant`, `issuer`, `acr_values` and
 * `max_age`; they are the proxy's configuration, never the caller's. The token service answers Envoy's gRPC question
 * the same way.
 */
export async function forwardAuth(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<object> {
  const { authorization } = request.headers;
  const query = readQuery(request);
  const demand = routeDemand(query);
  try {
    const claims = await gateway.peers.introspection.introspect(
      { token: bearerToken(authorization), caller: request.incoming.caller() },
      rootCall(request.incoming.requestId),
    );
    const isAccessToken = claims.active && claims.kind === TokenKind.ACCESS_TOKEN;
    const token = requireDemanded(
      isAccessToken ? claims : undefined,
      demand,
      epochSeconds(gateway.runtime.clock),
    );
    reply.headers({ 'cache-control': 'no-store', ...identityHeaders(token) });
    return {};
  } catch (error) {
    const challenge =
      error instanceof OAuthError ? forwardAuthChallenge(error, query, authorization) : undefined;
    if (challenge !== undefined) reply.header('www-authenticate', challenge);
    throw error;
  }
}
