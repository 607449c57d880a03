import { describe, expect, it } from 'vitest';
import { ordersAudience } from '../../harness/declared-state.ts';
import { tokensOf } from '@tessera/test-client';
import { clientCredentials, codeFor, redeem } from '../../harness/flows.ts';
import type { System } from '../../harness/set-up.ts';

/** What a reverse proxy asks before it forwards a request. */
export function forwardAuthSuite(system: () => System): void {
  describe('GET /auth/verify', () => {
    async function verify(token: string, demand: Record<string, string>) {
      const headers = token === '' ? {} : { authorization: `Bearer ${token}` };
      return system().http.ask('GET', `/auth/verify?${new URLSearchParams(demand).toString()}`, { headers });
    }

    it('lets an access token with audience and scope pass and describes its caller', async () => {
      const { accessToken } = tokensOf(await clientCredentials(system().http, 'acme-service', 'standard'));
      const answer = await verify(accessToken, {
        audience: ordersAudience,
        scope: 'orders.read',
        tenant: 'acme',
      });
      expect(answer.status).toBe(200);
      expect(answer.header('x-auth-subject')).toBe('acme-service');
      expect(answer.header('x-auth-tenant-id')).toBe('acme');
      expect(answer.header('x-auth-scope')).toBe('orders.read');
    });

    it('answers 401 for another audience, another tenant and anything but an access token, 403 without the scope, and 401 for too weak a sign-in (RFC 9470 section 3)', async () => {
      const { http } = system();
      const { accessToken } = tokensOf(await clientCredentials(http, 'acme-service', 'standard'));
      expect((await verify(accessToken, { audience: 'https://other.example' })).status).toBe(401);
      expect((await verify(accessToken, { audience: ordersAudience, tenant: 'globex' })).status).toBe(401);
      expect((await verify('', { audience: ordersAudience })).status).toBe(401);
      const lacking = await verify(accessToken, { audience: ordersAudience, scope: 'orders.write' });
      expect(lacking.status).toBe(403);
      expect(lacking.header('www-authenticate')).toContain('scope="orders.write"');
      const {
        accessToken: ofPerson,
        refreshToken,
        idToken,
      } = tokensOf(await redeem(http, await codeFor(system().person())));
      const fresh = { audience: ordersAudience, acr_values: '1', max_age: '600' };
      expect((await verify(ofPerson, fresh)).status).toBe(200);
      const weak = await verify(ofPerson, { ...fresh, acr_values: '2' });
      expect(weak.status).toBe(401);
      expect(weak.header('www-authenticate')).toContain('acr_values="2", max_age="600"');
      for (const token of [refreshToken ?? '', idToken ?? '']) {
        expect((await verify(token, { audience: ordersAudience })).status).toBe(401);
      }
    });
  });
}
