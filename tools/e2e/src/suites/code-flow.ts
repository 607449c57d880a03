import { describe, expect, it } from 'vitest';
import type { System } from '../harness/set-up.ts';
import {
  claimsOf,
  decideCiba,
  decideDevice,
  dialects,
  introspect,
  postToken,
  tokensOf,
} from '@tessera/test-client';
import { codeFor, expectError, redeem, refresh, secretOf } from '../harness/flows.ts';
import { poll, startCiba, startDevice } from '../harness/out-of-band.ts';
import { billingAudience, ordersAudience, redirectUri } from '../harness/declared-state.ts';

/** Authorization codes and refresh tokens, as a client uses them, and one-time values in general. */
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

    it('rotates the refresh token at every use and never widens the scope (RFC 6749 section 6)', async () => {
      const { http } = system();
      const first = tokensOf(await redeem(http, await codeFor(system().person()), dialect));
      const narrowed = tokensOf(
        await refresh(http, first.refreshToken, 'acme-web', dialect, { scope: 'openid' }),
      );
      expect(narrowed.scope).toBe('openid');
      expect(narrowed.refreshToken === first.refreshToken).toBe(false);
      expectError(
        await refresh(http, narrowed.refreshToken, 'acme-web', dialect, { scope: 'openid orders.write' }),
        400,
        'invalid_scope',
      );
      const whole = tokensOf(await refresh(http, narrowed.refreshToken, 'acme-web', dialect));
      expect(whole.scope?.split(' ')).toContain('orders.read');
      expect(claimsOf(whole.idToken)).toMatchObject({
        sub: claimsOf(first.idToken)['sub'],
        auth_time: claimsOf(first.idToken)['auth_time'],
      });
    });

    it('keeps the resource of an authorization request without scopes of it, across refreshes (RFC 8707 section 2.2)', async () => {
      const { http } = system();
      const resource = ordersAudience;
      const elsewhere = { resource: billingAudience };
      const code = await codeFor(system().person(), 'acme-web', { scope: 'openid offline_access', resource });
      expectError(await redeem(http, code, dialect, elsewhere), 400, 'invalid_target');
      const tokens = tokensOf(await redeem(http, code, dialect, { resource }));
      expect(claimsOf(tokens.accessToken)).toMatchObject({ aud: resource });
      const refused = await refresh(http, tokens.refreshToken, 'acme-web', dialect, elsewhere);
      expectError(refused, 400, 'invalid_target');
      const next = tokensOf(await refresh(http, tokens.refreshToken, 'acme-web', dialect, { resource }));
      expect(claimsOf(next.accessToken)).toMatchObject({ aud: resource });
      expect(next.scope?.split(' ').sort()).toEqual(['offline_access', 'openid']);
      const last = tokensOf(await refresh(http, next.refreshToken, 'acme-web', dialect));
      expect(claimsOf(last.accessToken)).toMatchObject({ aud: resource });
    });

    it('gives the same successor again to a retry, until the successor is used; then ends the family', async () => {
      const { http } = system();
      const first = tokensOf(await redeem(http, await codeFor(system().person()), dialect));
      const second = tokensOf(await refresh(http, first.refreshToken, 'acme-web', dialect));
      const again = tokensOf(await refresh(http, first.refreshToken, 'acme-web', dialect));
      expect(again.refreshToken === second.refreshToken).toBe(true);
      const third = tokensOf(await refresh(http, second.refreshToken, 'acme-web', dialect));
      expectError(await refresh(http, first.refreshToken, 'acme-web', dialect), 400, 'invalid_grant');
      expectError(await refresh(http, third.refreshToken, 'acme-web', dialect), 400, 'invalid_grant');
    });

    it("leaves a family untouched by another client's attempt", async () => {
      const { http } = system();
      const first = tokensOf(await redeem(http, await codeFor(system().person()), dialect));
      expectError(await refresh(http, first.refreshToken, 'acme-other', dialect), 400, 'invalid_grant');
      tokensOf(await refresh(http, first.refreshToken, 'acme-web', dialect));
    });

    it('refuses every mutilation of a refresh token', async () => {
      const { http } = system();
      const { refreshToken = '' } = tokensOf(await redeem(http, await codeFor(system().person()), dialect));
      const variants = [
        refreshToken.slice(0, -1),
        `${refreshToken}A`,
        ` ${refreshToken}`,
        refreshToken.toUpperCase(),
        refreshToken.slice(3),
        `tc_${refreshToken.slice(3)}`,
        `${refreshToken}=`,
      ];
      for (const variant of variants) {
        expectError(await refresh(http, variant, 'acme-web', dialect), 400, 'invalid_grant');
      }
      tokensOf(await refresh(http, refreshToken, 'acme-web', dialect));
    });
  });

  describe('opaque values', () => {
    it('are not interchangeable, and a mistaken one is not consumed (security case COD-3)', async () => {
      const { http } = system();
      const person = system().person();
      const code = await codeFor(person);
      expectError(await refresh(http, code.code), 400, 'invalid_grant');
      const tokens = tokensOf(await redeem(http, code));
      expectError(await redeem(http, { ...code, code: tokens.refreshToken ?? '' }), 400, 'invalid_grant');
      for (const value of person.cookies.values()) {
        expectError(await refresh(http, value), 400, 'invalid_grant');
        expectError(await redeem(http, { ...code, code: value }), 400, 'invalid_grant');
      }
      expect(await introspect(http, tokens.refreshToken)).toMatchObject({ active: true });
    });
  });

  describe('one-time values', () => {
    it.each(dialects)(
      'are good for their own grant alone and not consumed by another (COD-3), in the %s dialect',
      async (dialect) => {
        const { http } = system();
        const code = await codeFor(system().person());
        const first = tokensOf(await redeem(http, await codeFor(system().person())));
        const device = await startDevice(http);
        await decideDevice(system().person(), device.userCode, 'approve');
        const message = `one-time values, ${dialect}.`;
        const authReqId = await startCiba(http, { binding_message: message });
        const adas = system().person();
        await decideCiba(adas, 'approve', message);
        const session = adas.cookies.get('tessera_session') ?? '';
        const values = {
          code: code.code,
          refresh: first.refreshToken ?? '',
          device: device.deviceCode,
          authReqId,
          session,
          userCode: device.userCode,
        };
        for (const [kind, value] of Object.entries(values)) {
          const presented = [
            ...(kind === 'code' ? [] : [['authorization_code', 'acme-web', 'code'] as const]),
            ...(kind === 'refresh' ? [] : [['refresh_token', 'acme-web', 'refreshToken'] as const]),
          ];
          for (const [grantType, clientId, field] of presented) {
            const answer = await postToken(http, dialect, {
              grantType,
              clientId,
              clientSecret: secretOf[clientId],
              codeVerifier: code.verifier,
              redirectUri: 'http://127.0.0.1:9000/callback',
              [field]: value,
            });
            expectError(answer, 400, 'invalid_grant');
          }
          if (kind !== 'device')
            expectError(await poll(http, 'device', value, 'acme-tv', dialect), 400, 'invalid_grant');
          if (kind !== 'authReqId')
            expectError(await poll(http, 'ciba', value, 'acme-desk', dialect), 400, 'invalid_grant');
        }
        tokensOf(await redeem(http, code, dialect));
        tokensOf(await refresh(http, first.refreshToken, 'acme-web', dialect));
        tokensOf(await poll(http, 'device', device.deviceCode, 'acme-tv', dialect));
        tokensOf(await poll(http, 'ciba', authReqId, 'acme-desk', dialect));
      },
    );
  });
}
