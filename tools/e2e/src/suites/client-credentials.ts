import { describe, expect, it } from 'vitest';
import type { System } from '../harness/set-up.ts';
import { claimsOf, dialects, headerOf, tokensOf } from '@tessera/test-client';
import { clientCredentials, expectError } from '../harness/flows.ts';
import { ordersAudience, secrets } from '../harness/declared-state.ts';

/** Tokens for services, and the authentication of clients on the way. */
export function clientCredentialsSuite(system: () => System): void {
  describe.each(dialects)('client credentials in the %s dialect', (dialect) => {
    it('issues an access token with the claims of the contract (RFC 6749 section 4.4, RFC 9068 section 2)', async () => {
      const { http, baseUrl } = system();
      const answer = await clientCredentials(http, 'acme-service', dialect);
      const tokens = tokensOf(answer);
      expect(answer.header('cache-control')).toBe('no-store');
      expect(tokens).toMatchObject({ tokenType: 'Bearer', expiresIn: 600, scope: 'orders.read' });
      expect(tokens.refreshToken).toBeUndefined();
      expect(tokens.idToken).toBeUndefined();
      expect(headerOf(tokens.accessToken)).toMatchObject({
        alg: 'RS256',
        typ: 'at+jwt',
        kid: expect.any(String),
      });
      expect(claimsOf(tokens.accessToken)).toMatchObject({
        iss: baseUrl,
        aud: ordersAudience,
        sub: 'acme-service',
        client_id: 'acme-service',
        scope: ['orders.read'],
        role: [],
        tenant_id: 'acme',
        jti: expect.any(String),
        exp: expect.any(Number),
      });
    });

    it('answers an unknown client, a wrong secret and a missing secret alike with 401 (RFC 6749 section 5.2)', async () => {
      const { http } = system();
      const answers = [
        await clientCredentials(http, 'nobody', dialect, { clientSecret: secrets.service }),
        await clientCredentials(http, 'acme-service', dialect, { clientSecret: `${secrets.service}x` }),
        await clientCredentials(http, 'acme-service', dialect, { clientSecret: undefined }),
      ];
      for (const answer of answers) expectError(answer, 401, 'invalid_client');
      expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    });

    it('refuses what the request or the application does not allow, each with its registered code', async () => {
      const { http } = system();
      const cases: [Record<string, string | undefined>, number, string][] = [
        [{ grantType: 'password' }, 400, 'unsupported_grant_type'],
        [{ grantType: undefined }, 400, 'invalid_request'],
        [
          { grantType: 'authorization_code', code: 'x', codeVerifier: 'x', redirectUri: 'x' },
          400,
          'unauthorized_client',
        ],
        [{ scope: 'orders.delete' }, 400, 'invalid_scope'],
        [{ scope: 'stock.read' }, 400, 'invalid_scope'],
        [{ scope: 'openid' }, 400, 'invalid_scope'],
        [{ scope: 'orders.read billing.read' }, 400, 'invalid_scope'],
        [{ resource: 'https://stock.globex.example' }, 400, 'invalid_target'],
      ];
      for (const [overrides, status, error] of cases) {
        expectError(await clientCredentials(http, 'acme-service', dialect, overrides), status, error);
      }
    });

    it('binds the audience with resource where scopes of two API resources are asked for (RFC 8707 section 2)', async () => {
      const { http } = system();
      const request = { scope: 'orders.read billing.read', resource: ordersAudience };
      const tokens = tokensOf(await clientCredentials(http, 'acme-service', dialect, request));
      expect(claimsOf(tokens.accessToken)).toMatchObject({ aud: ordersAudience, scope: ['orders.read'] });
    });
  });

  describe('client authentication', () => {
    it('accepts client_secret_basic in both dialects and says so in WWW-Authenticate when it fails (RFC 6749 section 2.3.1)', async () => {
      const { http } = system();
      for (const ask of [
        { json: { grantType: 'client_credentials', scope: 'orders.read' } },
        { form: { grant_type: 'client_credentials', scope: 'orders.read' } },
      ]) {
        const good = await http.ask('POST', '/token', { ...ask, basic: ['acme-service', secrets.service] });
        expect(good.status).toBe(200);
        const wrong = await http.ask('POST', '/token', { ...ask, basic: ['acme-service', 'x'.repeat(43)] });
        expectError(wrong, 401, 'invalid_client');
        expect(wrong.header('www-authenticate')).toMatch(/^Basic /);
      }
    });

    it('refuses two authentication methods in one request (RFC 6749 section 2.3)', async () => {
      const answer = await system().http.ask('POST', '/token', {
        form: { grant_type: 'client_credentials', client_id: 'acme-service', client_secret: secrets.service },
        basic: ['acme-service', secrets.service],
      });
      expectError(answer, 400, 'invalid_request');
    });
  });

  describe('bodies', () => {
    it('takes two exact media types and refuses the rest with 415', async () => {
      const { http } = system();
      const body = JSON.stringify({ grantType: 'client_credentials', clientId: 'acme-service' });
      for (const type of [
        'text/plain',
        'application/jsonX',
        'application/json garbage',
        'multipart/form-data; boundary=x',
      ]) {
        const answer = await http.ask('POST', '/token', { body, headers: { 'content-type': type } });
        expect(answer.status, type).toBe(415);
      }
    });

    it('refuses malformed, nested, repeated and oversized bodies without a grant', async () => {
      const { http } = system();
      const json = { 'content-type': 'application/json' };
      const form = { 'content-type': 'application/x-www-form-urlencoded' };
      const cases: [string, Record<string, string>, number][] = [
        ['{', json, 400],
        ['[]', json, 400],
        ['{"grantType":["client_credentials"]}', json, 400],
        ['{"grantType":{"grantType":"client_credentials"}}', json, 400],
        ['{"grantType":"client_credentials","grantType":"refresh_token"}', json, 400],
        ['grant_type=client_credentials&grant_type=refresh_token', form, 400],
        ['grant_type=client_credentials&client_id=%zz', form, 400],
        [JSON.stringify({ grantType: 'client_credentials', scope: 'x'.repeat(70_000) }), json, 413],
      ];
      for (const [body, headers, status] of cases) {
        const answer = await http.ask('POST', '/token', { body, headers });
        expectError(answer, status, 'invalid_request');
      }
    });
  });
}
