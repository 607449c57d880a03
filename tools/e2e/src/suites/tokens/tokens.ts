import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { claimsOf, introspect, tokensOf } from '@tessera/test-client';
import { clientCredentials, codeFor, expectError, redeem, refresh } from '../../harness/flows.ts';
import { people, secrets } from '../../harness/declared-state.ts';

/** Access and refresh tokens at userinfo and introspection. */
export function tokensSuite(system: () => System): void {
  describe('userinfo', () => {
    it('releases the claims of the granted scopes (OIDC Core section 5.3)', async () => {
      const { http } = system();
      const person = system().person();
      const cases: [string, string[]][] = [
        ['openid', ['sub']],
        ['openid profile', ['name', 'preferred_username', 'sub']],
        ['openid profile email phone', ['email', 'name', 'phone_number', 'preferred_username', 'sub']],
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
          auth_time: claimsOf(tokens.idToken ?? '')['auth_time'],
          acr: '1',
          username: people.ada.username,
        });
      }
      const { accessToken: own } = tokensOf(await clientCredentials(http));
      expect(await introspect(http, own)).not.toHaveProperty('username');
    });

    it('tells Synapse and Dovecot, by the requests that they send, whose token it is (RFC 7662 §2.2)', async () => {
      const { http } = system();
      const { accessToken } = tokensOf(await redeem(http, await codeFor(system().person())));
      const basic = Buffer.from(`acme-web:${secrets.web}`).toString('base64');
      const form = 'application/x-www-form-urlencoded';
      const synapse = await http.ask('POST', '/introspect', {
        headers: {
          'content-type': form,
          accept: 'application/json',
          'x-mas-supports-device-id': '1',
          authorization: `Basic ${basic}`,
        },
        body: `token=${accessToken}&token_type_hint=access_token`,
      });
      const dovecot = await http.ask('POST', '/introspect', {
        headers: {
          'content-type': form,
          authorization: `Basic ${basic}`,
          'x-dovecot-auth-service': 'imap',
          'x-dovecot-auth-local': '127.0.0.1:993',
          'x-dovecot-auth-remote': '203.0.113.7:50123',
        },
        body: `token=${accessToken.replaceAll('.', '%2e').replaceAll('_', '%5f')}`,
      });
      for (const answer of [synapse, dovecot]) {
        expect(answer.status).toBe(200);
        expect(answer.json()).toMatchObject({
          active: true,
          sub: claimsOf(accessToken)['sub'],
          username: people.ada.username,
          token_type: 'Bearer',
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
}
