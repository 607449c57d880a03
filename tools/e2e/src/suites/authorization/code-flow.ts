import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { claimsOf, dialects, tokensOf } from '@tessera/test-client';
import { codeFor, redeem, refresh } from '../../harness/flows.ts';
import { ordersAudience } from '../../harness/declared-state.ts';

/** Authorization codes, as a client uses them. */
export function codeFlowSuite(system: () => System): void {
  describe.each(dialects)('authorization code in the %s dialect', (dialect) => {
    it('exchanges a code for access, refresh and ID token (OIDC Core section 3.1.3)', async () => {
      const { http, baseUrl } = system();
      const code = await codeFor(system().person(), 'acme-web', { nonce: 'n-0S6_WzA2Mj' });
      const tokens = tokensOf(await redeem(http, code, dialect));
      expect(tokens.scope?.split(' ').sort()).toEqual([
        'email',
        'offline_access',
        'openid',
        'orders.read',
        'profile',
      ]);
      const access = claimsOf(tokens.accessToken);
      expect(access).toMatchObject({
        iss: baseUrl,
        aud: ordersAudience,
        client_id: 'acme-web',
        role: ['clerk'],
        tenant_id: 'acme',
      });
      expect(access['scope']).toEqual(tokens.scope?.split(' '));
      const id = claimsOf(tokens.idToken);
      expect(id).toMatchObject({
        iss: baseUrl,
        aud: 'acme-web',
        sub: access['sub'],
        nonce: 'n-0S6_WzA2Mj',
        at_hash: expect.any(String),
        sid: expect.any(String),
        acr: '1',
        amr: ['pwd'],
        auth_time: expect.any(Number),
      });
      expect(tokens.refreshToken?.startsWith('tr_')).toBe(true);
    });

    it('issues a refresh token only with offline_access, an ID token only with openid, and no nonce unasked', async () => {
      const { http } = system();
      const person = system().person();
      const without = tokensOf(
        await redeem(http, await codeFor(person, 'acme-web', { scope: 'orders.read' }), dialect),
      );
      expect(without.refreshToken).toBeUndefined();
      expect(without.idToken).toBeUndefined();
      const identity = tokensOf(
        await redeem(http, await codeFor(person, 'acme-web', { scope: 'openid' }), dialect),
      );
      expect(claimsOf(identity.accessToken)['aud']).toBe(system().baseUrl);
      expect(claimsOf(identity.idToken)).not.toHaveProperty('nonce');
    });

    it('serves public clients without a secret', async () => {
      const { http } = system();
      const tokens = tokensOf(await redeem(http, await codeFor(system().person(), 'acme-spa'), dialect));
      tokensOf(await refresh(http, tokens.refreshToken, 'acme-spa', dialect));
    });
  });
}
