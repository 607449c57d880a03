import { TokenKind, type IntrospectResponse } from '@tessera/proto-gen/token';
import type { Introspection } from '../introspector-types.ts';

/** A result and how long it may be cached. */
export interface Answer {
  readonly introspection: Introspection;
  /** Seconds; 0: not at all. */
  readonly cacheSeconds: number;
}

export const inactive: Answer = { introspection: { active: false }, cacheSeconds: 0 };

/** Compatibility until 0.4: a server of version 0.2 knows one audience alone. */
function audiencesOf({ aud, audiences }: IntrospectResponse): string[] {
  if (audiences.length > 0) return audiences;
  return aud === '' ? [] : [aud];
}

export function answerOf(response: IntrospectResponse): Answer {
  if (!response.active) return inactive;
  const introspection: Introspection = {
    active: true,
    kind: response.kind === TokenKind.REFRESH_TOKEN ? 'refresh_token' : 'access_token',
    sub: response.sub,
    clientId: response.clientId,
    scopes: response.scope === '' ? [] : response.scope.split(' '),
    roles: response.role,
    aud: response.aud,
    audiences: audiencesOf(response),
    iss: response.iss,
    tenantId: response.tenantId,
    exp: Number(response.exp),
    iat: Number(response.iat),
    jti: response.jti,
    authTime: Number(response.authTime),
    acr: response.acr,
    username: response.username ?? '',
  };
  return { introspection, cacheSeconds: response.cacheSeconds };
}
