import { IntrospectionError } from '../introspection-error.ts';
import type { ActiveToken, Introspection, Introspector } from '../introspector-types.ts';

export const active: ActiveToken = {
  active: true,
  kind: 'access_token',
  sub: 'ada',
  clientId: 'web',
  scopes: ['orders.read', 'orders.write'],
  roles: ['clerk'],
  aud: 'https://orders.example',
  audiences: ['https://orders.example'],
  iss: 'https://id.example',
  tenantId: 'acme',
  exp: 2_000_000_000,
  iat: 1_999_999_000,
  jti: 'j1',
  authTime: 1_999_998_000,
  acr: '1',
  username: 'ada',
};

const known: Readonly<Record<string, Introspection>> = {
  good: active,
  refresh: { ...active, kind: 'refresh_token' },
  foreign: { ...active, aud: 'https://billing.example', audiences: ['https://billing.example'] },
  several: { ...active, aud: 'https://billing.example', audiences: ['https://billing.example', active.aud] },
};

/** An introspector that knows a few tokens and fails for `unavailable`. */
export function stub(): Introspector {
  return {
    guarded: true,
    async introspect(token) {
      if (token === 'unavailable')
        throw new IntrospectionError('unavailable', 'unavailable', { retryAfterSeconds: 7 });
      return known[token] ?? { active: false };
    },
    onRevocation: () => () => undefined,
    close: async () => undefined,
  };
}
