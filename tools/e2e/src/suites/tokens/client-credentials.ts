import { describe, expect, it } from 'vitest';
import type { System } from '../../harness/set-up.ts';
import { claimsOf, dialects, headerOf, tokensOf } from '@tessera/test-client';
import { audienceOf, clientCredentials, expectError } from '../../harness/flows.ts';
import { billingAudience, ordersAudience, secrets } from '../../harness/declared-state.ts';

/** Client credentials. */
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

    it('is for the named resource, or refused with invalid_target (RFC 8707 section 2)', async () => {
      const ask = async (scope: string | undefined, resource: string | undefined, clientId = 'acme-web') =>
        audienceOf(await clientCredentials(system().http, clientId, dialect, { scope, resource }));
      expect(await ask(undefined, undefined)).toBe(ordersAudience);
      expect(await ask(undefined, ordersAudience)).toBe(ordersAudience);
      expect(await ask('orders.read', ordersAudience)).toBe(ordersAudience);
      expect(await ask('orders.read', billingAudience)).toBe('invalid_target');
      expect(await ask('orders.read', 'https://unknown.example')).toBe('invalid_target');
      expect(await ask('orders.read', billingAudience, 'acme-service')).toBe('invalid_scope');
    });
  });
}
