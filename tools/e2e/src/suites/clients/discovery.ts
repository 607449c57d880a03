import { describe, expect, it } from 'vitest';
import { eventually } from '@tessera/test-kit/provision';
import type { System } from '../../harness/set-up.ts';

/** Metadata and keys. */
export function discoverySuite(system: () => System): void {
  describe('discovery', () => {
    it('publishes the fields of the contract, then the other registered ones', async () => {
      const { http, baseUrl } = system();
      const answer = await http.ask('GET', '/.well-known/openid-configuration');
      expect(answer.status).toBe(200);
      expect(answer.text).not.toMatch(/device_authorization|backchannel|logout/);
      expect(answer.json()).toMatchObject({
        issuer: baseUrl,
        jwks_uri: `${baseUrl}/.well-known/jwks.json`,
        authorization_endpoint: `${baseUrl}/authorize`,
        token_endpoint: `${baseUrl}/token`,
        introspect_endpoint: `${baseUrl}/introspect`,
        revoke_token_endpoint: `${baseUrl}/revoke`,
        userinfo_endpoint: `${baseUrl}/userinfo`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
        token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
        grant_types_supported: [
          'authorization_code',
          'client_credentials',
          'refresh_token',
          'device_code',
          'ciba',
        ],
        scopes_supported: ['openid', 'profile', 'email', 'phone', 'offline_access'],
        introspection_endpoint: `${baseUrl}/introspect`,
        revocation_endpoint: `${baseUrl}/revoke`,
        code_challenge_methods_supported: ['S256'],
        request_uri_parameter_supported: false,
      });
    });

    it('publishes the complete standard metadata as well (RFC 8414 section 3)', async () => {
      const { http, baseUrl } = system();
      const metadata = (await http.ask('GET', '/.well-known/oauth-authorization-server')).json();
      expect(metadata).toMatchObject({
        issuer: baseUrl,
        introspection_endpoint: `${baseUrl}/introspect`,
        revocation_endpoint: `${baseUrl}/revoke`,
        device_authorization_endpoint: `${baseUrl}/device_authorization`,
        backchannel_authentication_endpoint: `${baseUrl}/backchannel_authentication`,
        end_session_endpoint: `${baseUrl}/logout`,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
        code_challenge_methods_supported: ['S256'],
        authorization_response_iss_parameter_supported: true,
      });
      expect(metadata['grant_types_supported']).toContain('urn:ietf:params:oauth:grant-type:device_code');
      expect(metadata['grant_types_supported']).toContain('urn:openid:params:grant-type:ciba');
    });

    it('names the delivery modes of CIBA that are available (CIBA Core section 4)', async () => {
      // Poll alone is named until the gateway has heard of device.
      await eventually('all modes are named', async () => {
        const metadata = (await system().http.ask('GET', '/.well-known/oauth-authorization-server')).json();
        return String(metadata['backchannel_token_delivery_modes_supported']) === 'poll,ping,push';
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

    it('refuses a host that is not allowed with 500 at discovery and 400 elsewhere', async () => {
      const { http } = system();
      const headers = { host: 'evil.example' };
      const discovery = await http.ask('GET', '/.well-known/openid-configuration', { headers });
      expect(discovery.status).toBe(500);
      expect(discovery.text).not.toContain('evil.example');
      const token = await http.ask('POST', '/token', { headers, json: { grantType: 'client_credentials' } });
      expect(token.status).toBe(400);
    });

    it('ignores forwarded headers of a peer that is no trusted proxy', async () => {
      const { http, baseUrl } = system();
      const headers = {
        'x-forwarded-host': 'evil.example',
        'x-forwarded-proto': 'https',
        forwarded: 'host=evil.example',
      };
      const answer = await http.ask('GET', '/.well-known/openid-configuration', { headers });
      expect(answer.json()['issuer']).toBe(baseUrl);
    });

    it('answers other methods with 405 and Allow', async () => {
      const { http } = system();
      for (const [method, path] of [
        ['GET', '/token'],
        ['GET', '/introspect?token=x'],
        ['PUT', '/revoke'],
        ['POST', '/.well-known/jwks.json'],
        ['DELETE', '/userinfo'],
      ] as const) {
        const answer = await http.ask(method, path);
        expect(answer.status, `${method} ${path}`).toBe(405);
        expect(answer.header('allow')).toBeTruthy();
      }
    });
  });
}
