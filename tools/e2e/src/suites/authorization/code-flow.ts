import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { claimsOf, dialects, introspect, tokensOf } from '@tessera/test-client';
import { codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';
import { ordersAudience, redirectUri } from '../../harness/declared-state.ts';

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

    it('refuses a second use and revokes what the first issued (RFC 6749 section 4.1.2)', async () => {
      const { http } = system();
      const code = await codeFor(system().person());
      const tokens = tokensOf(await redeem(http, code, dialect));
      expectError(await redeem(http, code, dialect), 400, 'invalid_grant');
      expectError(await refresh(http, tokens.refreshToken, 'acme-web', dialect), 400, 'invalid_grant');
    });

    it('sees a second use also where it is wrong otherwise, and after a logout (RFC 6749 section 4.1.2)', async () => {
      const { http } = system();
      const person = system().person();
      const logout = async (): Promise<void> => void (await person.get('/logout'));
      const seconds: [Parameters<typeof redeem>[3], () => Promise<void>][] = [
        [{ codeVerifier: 'v'.repeat(43) }, async () => {}],
        [{ redirectUri: `${redirectUri}/` }, async () => {}],
        [{}, logout],
      ];
      for (const [more, before] of seconds) {
        const code = await codeFor(person);
        const tokens = tokensOf(await redeem(http, code, dialect));
        await before();
        expectError(await redeem(http, code, dialect, more), 400, 'invalid_grant');
        expectError(await refresh(http, tokens.refreshToken, 'acme-web', dialect), 400, 'invalid_grant');
      }
    });

    it("refuses another client's attempt, which changes nothing (RFC 6749 section 5.2)", async () => {
      const { http } = system();
      const code = await codeFor(system().person());
      const thief = { ...code, clientId: 'acme-other' };
      expectError(await redeem(http, thief, dialect), 400, 'invalid_grant');
      const tokens = tokensOf(await redeem(http, code, dialect));
      expectError(await redeem(http, thief, dialect), 400, 'invalid_grant');
      expect(await introspect(http, tokens.refreshToken)).toMatchObject({ active: true });
    });

    it('consumes nothing when the client fails to authenticate', async () => {
      const { http } = system();
      const code = await codeFor(system().person());
      expectError(await redeem(http, code, dialect, { clientSecret: 'y'.repeat(43) }), 401, 'invalid_client');
      tokensOf(await redeem(http, code, dialect));
    });

    it('burns the code at a wrong verifier or redirect URI (RFC 7636 section 4.6)', async () => {
      const { http } = system();
      const person = system().person();
      for (const wrong of [{ codeVerifier: 'v'.repeat(43) }, { redirectUri: `${redirectUri}/` }]) {
        const code = await codeFor(person);
        expectError(await redeem(http, code, dialect, wrong), 400, 'invalid_grant');
        expectError(await redeem(http, code, dialect), 400, 'invalid_grant');
      }
    });

    it('asks for the verifier of confidential clients too (RFC 9700 section 2.1.1)', async () => {
      const { http } = system();
      const code = await codeFor(system().person());
      for (const codeVerifier of [undefined, '']) {
        expectError(await redeem(http, code, dialect, { codeVerifier }), 400, 'invalid_request');
      }
      for (const codeVerifier of ['short', 'v'.repeat(129), `${'v'.repeat(42)}!`]) {
        const refused = await redeem(http, await codeFor(system().person()), dialect, { codeVerifier });
        expect(refused.status).toBe(400);
      }
    });

    it('serves public clients without a secret', async () => {
      const { http } = system();
      const tokens = tokensOf(await redeem(http, await codeFor(system().person(), 'acme-spa'), dialect));
      tokensOf(await refresh(http, tokens.refreshToken, 'acme-spa', dialect));
    });
  });
}
