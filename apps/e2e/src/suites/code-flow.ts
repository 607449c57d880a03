import { describe, expect, it } from 'vitest';
import type { System } from '../harness/set-up.ts';
import {
  claimsOf,
  clientCredentials,
  codeFor,
  dialects,
  expectError,
  introspect,
  redeem,
  refresh,
  revoke,
  tokensOf,
} from '../harness/flows.ts';
import { billingAudience, ordersAudience, redirectUri, secrets } from '../harness/declared-state.ts';

/** Codes, refresh tokens, userinfo, introspection and revocation, one after the other as a client uses them. */
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

    it('takes the resource of the authorization request again where it restricted nothing (RFC 8707 section 2.2)', async () => {
      const { http } = system();
      const resource = ordersAudience;
      const elsewhere = { resource: billingAudience };
      const code = await codeFor(system().person(), 'acme-web', { scope: 'openid offline_access', resource });
      expectError(await redeem(http, code, dialect, elsewhere), 400, 'invalid_target');
      const tokens = tokensOf(await redeem(http, code, dialect, { resource }));
      expect(claimsOf(tokens.accessToken)).toMatchObject({ aud: system().baseUrl });
      const refused = await refresh(http, tokens.refreshToken, 'acme-web', dialect, elsewhere);
      expectError(refused, 400, 'invalid_target');
      const next = tokensOf(await refresh(http, tokens.refreshToken, 'acme-web', dialect, { resource }));
      expect(claimsOf(next.accessToken)).toMatchObject({ aud: system().baseUrl });
      expect(next.scope?.split(' ').sort()).toEqual(['offline_access', 'openid']);
      tokensOf(await refresh(http, next.refreshToken, 'acme-web', dialect));
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

  describe('userinfo', () => {
    it('releases the claims of the granted scopes (OIDC Core section 5.3)', async () => {
      const { http } = system();
      const person = system().person();
      const cases: [string, string[]][] = [
        ['openid', ['sub']],
        ['openid profile', ['name', 'sub']],
        ['openid profile email phone', ['email', 'name', 'phone_number', 'sub']],
      ];
      for (const [scope, claims] of cases) {
        const { accessToken } = tokensOf(await redeem(http, await codeFor(person, 'acme-web', { scope })));
        for (const method of ['GET', 'POST']) {
          const answer = await http.ask(method, '/userinfo', {
            headers: { authorization: `Bearer ${accessToken}` },
          });
          expect(answer.status).toBe(200);
          expect(Object.keys(answer.json()).sort()).toEqual(claims);
        }
      }
    });

    it('answers 401 without a good bearer token and 403 without the scope (RFC 6750 section 3.1)', async () => {
      const { http } = system();
      const bare = await http.ask('GET', '/userinfo');
      expect(bare.status).toBe(401);
      expect(bare.header('www-authenticate')).toMatch(/^Bearer/);
      const tokens = tokensOf(
        await redeem(http, await codeFor(system().person(), 'acme-web', { nonce: 'n' })),
      );
      const refused = [
        'garbage',
        tokens.idToken ?? '',
        tokens.refreshToken ?? '',
        `${tokens.accessToken.slice(0, -2)}AA`,
        `${Buffer.from('{"alg":"none","typ":"at+jwt"}').toString('base64url')}.${tokens.accessToken.split('.')[1]}.`,
      ];
      for (const token of refused) {
        const answer = await http.ask('GET', '/userinfo', { headers: { authorization: `Bearer ${token}` } });
        expect(answer.status).toBe(401);
        expect(answer.header('www-authenticate')).toContain('invalid_token');
      }
      const service = tokensOf(await clientCredentials(http));
      const forbidden = await http.ask('GET', '/userinfo', {
        headers: { authorization: `Bearer ${service.accessToken}` },
      });
      expect(forbidden.status).toBe(403);
      expect(forbidden.header('www-authenticate')).toMatch(/error="insufficient_scope".*, scope="openid"$/);
    });

    it('takes no token from the query (RFC 9700 section 4.3)', async () => {
      const { http } = system();
      const { accessToken } = tokensOf(await redeem(http, await codeFor(system().person())));
      expect((await http.ask('GET', `/userinfo?access_token=${accessToken}`)).status).toBe(401);
    });
  });

  describe('introspection', () => {
    it('reports active tokens in the envelope of the contract', async () => {
      const { http, baseUrl } = system();
      const tokens = tokensOf(await redeem(http, await codeFor(system().person())));
      for (const token of [tokens.accessToken, tokens.refreshToken]) {
        expect(await introspect(http, token)).toMatchObject({
          active: true,
          sub: claimsOf(tokens.accessToken)['sub'],
          client_id: 'acme-web',
          scope: tokens.scope,
          exp: expect.any(Number),
          iss: baseUrl,
          tenant_id: 'acme',
        });
      }
    });

    it('says of everything else only that it is inactive (RFC 7662 section 2.2)', async () => {
      const { http } = system();
      const first = tokensOf(
        await redeem(http, await codeFor(system().person(), 'acme-web', { nonce: 'n' })),
      );
      tokensOf(await refresh(http, first.refreshToken));
      for (const token of ['x', first.refreshToken, first.idToken, `${first.accessToken}x`, 'a.b.c']) {
        expect(await introspect(http, token)).toEqual({ active: false });
      }
    });

    it('answers an empty or missing token with 400 and the message of the contract', async () => {
      const { http } = system();
      for (const json of [{ token: '' }, {}]) {
        const answer = await http.ask('POST', '/introspect', { json });
        expect(answer.status).toBe(400);
        expect(answer.json()).toMatchObject({ isSuccess: false, message: 'Invalid request.' });
      }
    });

    it('checks credentials that are sent, and answers for own tokens and own audiences only', async () => {
      const { http } = system();
      const { accessToken } = tokensOf(await redeem(http, await codeFor(system().person())));
      const ask = async (clientId: string, secret: string) =>
        http.ask('POST', '/introspect', { form: { token: accessToken }, basic: [clientId, secret] });
      expect((await ask('acme-web', secrets.web)).json()).toMatchObject({ active: true });
      expect((await ask('acme-reports', secrets.reports)).json()).toMatchObject({ active: true });
      expect((await ask('acme-other', secrets.other)).json()).toEqual({ active: false });
      expect((await ask('globex-web', secrets.globex)).json()).toEqual({ active: false });
      expectError(await ask('acme-web', 'z'.repeat(43)), 401, 'invalid_client');
    });
  });

  describe('revocation', () => {
    it('revokes with DELETE /revoke, as often as asked, and leaves issued access tokens alone', async () => {
      const { http } = system();
      const tokens = tokensOf(await redeem(http, await codeFor(system().person())));
      for (let time = 0; time < 2; time += 1) {
        const answer = await revoke(http, tokens.refreshToken, 'lost phone');
        expect(answer.status).toBe(200);
        expect(answer.json()).toEqual({ message: 'Refresh token revoked.' });
      }
      expectError(await refresh(http, tokens.refreshToken), 400, 'invalid_grant');
      expect(await introspect(http, tokens.refreshToken)).toEqual({ active: false });
      expect(await introspect(http, tokens.accessToken)).toMatchObject({ active: true });
    });

    it('revokes whatever the reason looks like (contract, DELETE /revoke)', async () => {
      const { http } = system();
      for (const reason of [`lost${'\u{1f4f1}'.repeat(600)}`, 'a\nb\u0000c\u001b[31m', 'a\ud800']) {
        const tokens = tokensOf(await redeem(http, await codeFor(system().person())));
        expect((await revoke(http, tokens.refreshToken, reason)).json()).toEqual({
          message: 'Refresh token revoked.',
        });
        expect(await introspect(http, tokens.refreshToken)).toEqual({ active: false });
      }
    });

    it('answers a missing, lost or foreign token with 400 and never with "revoked"', async () => {
      const { http } = system();
      const service = tokensOf(await clientCredentials(http));
      const answers = [
        await http.ask('DELETE', '/revoke'),
        await http.ask('DELETE', '/revoke', { body: '', headers: { 'content-type': 'application/json' } }),
        await http.ask('DELETE', '/revoke', { json: {} }),
        await revoke(http, ''),
        await revoke(http, 'tr_unknown'),
        await revoke(http, service.accessToken),
      ];
      for (const answer of answers) {
        expect(answer.status).toBeGreaterThanOrEqual(400);
        expect(answer.status).toBeLessThan(500);
        expect(answer.text).not.toContain('revoked.');
      }
    });

    it('revokes by RFC 7009 with client authentication, and answers 200 for unknown tokens (section 2.2)', async () => {
      const { http } = system();
      const tokens = tokensOf(await redeem(http, await codeFor(system().person())));
      const ask = async (token: string | undefined, id: string, secret: string) =>
        http.ask('POST', '/revoke', { form: { token: token ?? '' }, basic: [id, secret] });
      expectError(
        await http.ask('POST', '/revoke', { form: { token: tokens.refreshToken ?? '' } }),
        401,
        'invalid_client',
      );
      expect((await ask(tokens.refreshToken, 'acme-other', secrets.other)).status).toBe(200);
      expect(await introspect(http, tokens.refreshToken)).toMatchObject({ active: true });
      expect((await ask('unknown', 'acme-web', secrets.web)).status).toBe(200);
      expect((await ask(tokens.refreshToken, 'acme-web', secrets.web)).status).toBe(200);
      expect(await introspect(http, tokens.refreshToken)).toEqual({ active: false });
    });

    it('offers each dialect only its own method', async () => {
      const { http } = system();
      const answer = await http.ask('POST', '/revoke', { json: { token: 'x' } });
      expect(answer.status).toBe(405);
      expect(answer.header('allow')).toContain('DELETE');
    });
  });
}
