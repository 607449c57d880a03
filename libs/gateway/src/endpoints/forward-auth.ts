import type { FastifyReply, FastifyRequest } from 'fastify';
import { rootCall } from '@tessera/rpc';
import { OAuthError } from '@tessera/oauth';
import { TokenKind } from '@tessera/proto-gen/token';
import type { IntrospectResponse } from '@tessera/proto-gen/token';
import type { Gateway } from '../gateway.ts';
import { readQuery } from '../http/query.ts';
import { challengeBearer, readBearer } from './bearer.ts';

export const forwardAuthPath = '/auth/verify';

/** What the proxy's route demands of an access token. */
interface Demand {
  readonly audience: string;
  /** Every one is needed. */
  readonly scopes: readonly string[];
  /** Undefined: any tenant that shares the audience. */
  readonly tenantId: string | undefined;
}

/**
 * `GET /auth/verify` answers a proxy (nginx `auth_request`, Traefik `forwardAuth`, Caddy `forward_auth`) whether the access token
 * in the Authorization header may pass: 200 with headers that describe the caller, 401 or 403 with a challenge (RFC 6750 §3).
 * Query: `audience`, and optionally `scope` and `tenant`; they are the proxy's configuration, never the caller's.
 */
export async function forwardAuth(
  request: FastifyRequest,
  reply: FastifyReply,
  gateway: Gateway,
): Promise<object> {
  const demand = demandOf(request);
  try {
    const token = readBearer(request);
    const claims = await gateway.peers.introspection.introspect(
      { token, caller: request.incoming.caller() },
      rootCall(request.incoming.requestId),
    );
    requireDemanded(claims, demand);
    reply.headers({ 'cache-control': 'no-store', ...identityHeaders(claims) });
    return {};
  } catch (error) {
    if (error instanceof OAuthError) {
      const lacks = error.code === 'insufficient_scope' ? demand.scopes.join(' ') : '';
      challengeBearer(request, reply, error, lacks);
    }
    throw error;
  }
}

/** Throws `invalid_request` (400, which no proxy takes for a yes) if the route does not say what it demands. */
function demandOf(request: FastifyRequest): Demand {
  const query = readQuery(request);
  const audience = query.get('audience') ?? '';
  if (audience === '') throw new OAuthError('invalid_request', 'The parameter audience is missing.');
  const unknown = [...query.keys()].find((name) => !['audience', 'scope', 'tenant'].includes(name));
  if (unknown !== undefined) {
    throw new OAuthError('invalid_request', 'Only the parameters audience, scope and tenant are known.');
  }
  const scopes = (query.get('scope') ?? '').split(' ').filter((name) => name !== '');
  return { audience, scopes, tenantId: query.get('tenant') };
}

function requireDemanded(claims: IntrospectResponse, { audience, scopes, tenantId }: Demand): void {
  if (!claims.active || claims.kind !== TokenKind.ACCESS_TOKEN) {
    throw new OAuthError('invalid_token', 'The access token is not valid.');
  }
  if (claims.aud !== audience || (tenantId ?? claims.tenantId) !== claims.tenantId) {
    throw new OAuthError('invalid_token', 'The access token is for another API.');
  }
  const granted = new Set(claims.scope.split(' '));
  if (!scopes.every((name) => granted.has(name))) {
    throw new OAuthError('insufficient_scope', 'The access token lacks a scope.');
  }
}

/** Header values are ASCII; other characters, commas and percent signs of a role are percent-encoded. */
function identityHeaders({
  sub,
  clientId,
  tenantId,
  scope,
  role,
}: IntrospectResponse): Record<string, string> {
  return {
    'x-auth-subject': sub,
    'x-auth-client-id': clientId,
    'x-auth-tenant-id': tenantId,
    'x-auth-scope': scope,
    'x-auth-roles': role.map(encodeURIComponent).join(','),
  };
}
