import { describe, expect, it } from 'vitest';
import { eventually } from '@tessera/test-kit/provision';
import type { System } from '../../harness/set-up.ts';

/** Metadata and keys, as far as they come from other processes; what they say is tested in the gateway. */
export function discoverySuite(system: () => System): void {
  describe('discovery', () => {
    it('names the issuer at both addresses', async () => {
      const { http, baseUrl } = system();
      for (const name of ['openid-configuration', 'oauth-authorization-server']) {
        const metadata = (await http.ask('GET', `/.well-known/${name}`)).json();
        expect(metadata).toMatchObject({ issuer: baseUrl, token_endpoint: `${baseUrl}/token` });
      }
    });

    it('names the delivery modes of CIBA that are available (CIBA Core section 4)', async () => {
      // Poll alone is named until the gateway has heard of device.
      await eventually('all modes are named', async () => {
        const metadata = (await system().http.ask('GET', '/.well-known/oauth-authorization-server')).json();
        return String(metadata['backchannel_token_delivery_modes_supported']) === 'poll,ping';
      });
    });

    it('publishes public keys only, cacheable for five minutes (RFC 7517 section 5)', async () => {
      const answer = await system().http.ask('GET', '/.well-known/jwks.json');
      expect(answer.status).toBe(200);
      expect(answer.header('cache-control')).toContain('max-age=300');
      const keys = answer.json()['keys'] as Record<string, string>[];
      const [first, ...others] = [...new Set(keys.map(({ alg }) => alg))];
      expect([first, others]).toEqual(['RS256', ['ES256']]);
      const shapes: Record<string, object> = {
        RS256: { kty: 'RSA', members: ['alg', 'e', 'kid', 'kty', 'n', 'use'] },
        ES256: { kty: 'EC', members: ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'] },
      };
      for (const key of keys) {
        expect({ kty: key['kty'], members: Object.keys(key).sort() }).toEqual(shapes[key['alg'] ?? '']);
        expect(key['use']).toBe('sig');
      }
    });
  });
}
