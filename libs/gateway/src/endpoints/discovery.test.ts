import { describe, expect, it, onTestFinished } from 'vitest';
import { metrics } from '@tessera/telemetry';
import { fakeClock, testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const openid = '/.well-known/openid-configuration';
const server = '/.well-known/oauth-authorization-server';
const jwks = '/.well-known/jwks.json';
const open = (
  environment: Record<string, string> = {},
  behaviours: Behaviours = {},
  runtime = testRuntime(),
) => {
  const gateway = openGateway(runtime, behaviours, environment);
  onTestFinished(() => gateway.close());
  return gateway;
};
const get = (gateway: ReturnType<typeof open>, url: string, headers: Record<string, string> = {}) =>
  gateway.app.inject({ method: 'GET', url, headers });

describe('GET /.well-known/openid-configuration', () => {
  it('begins with the fields of the contract, in its order, and lists no device, backchannel or logout endpoint', async () => {
    const answer = await get(open(), openid, { host: 'localhost:8080' });
    const base = 'http://localhost:8080';
    const document = {
      issuer: base,
      jwks_uri: `${base}/.well-known/jwks.json`,
      authorization_endpoint: `${base}/authorize`,
      token_endpoint: `${base}/token`,
      introspect_endpoint: `${base}/introspect`,
      revoke_token_endpoint: `${base}/revoke`,
      userinfo_endpoint: `${base}/userinfo`,
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
    };
    const received = answer.json<Record<string, unknown>>();
    expect(Object.entries(received).slice(0, 13)).toEqual(Object.entries(document));
    expect(answer.body).not.toMatch(/device_authorization|backchannel|logout/);
    expect(received).toMatchObject({
      introspection_endpoint: `${base}/introspect`,
      revocation_endpoint: `${base}/revoke`,
      code_challenge_methods_supported: ['S256'],
      request_uri_parameter_supported: false,
      prompt_values_supported: ['none', 'login', 'consent', 'select_account'],
      ui_locales_supported: ['en', 'ar', 'de'],
    });
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it.each([
    ['TESSERA_DISCOVERY=complete', { TESSERA_DISCOVERY: 'complete' }, true],
    ['the strict profile', { TESSERA_PROFILE: 'strict' }, true],
    [
      'the strict profile with TESSERA_DISCOVERY=contract',
      { TESSERA_PROFILE: 'strict', TESSERA_DISCOVERY: 'contract' },
      false,
    ],
  ])('with %s equals the RFC 8414 document: %#', async (_, settings, equal) => {
    const gateway = open({ TESSERA_ISSUER: 'https://id.example', ...settings });
    const [document, complete] = [await get(gateway, openid), await get(gateway, server)];
    expect(document.statusCode).toBe(200);
    expect(document.body === complete.body).toBe(equal);
  });

  it('answers 500 in the shape of the contract for a host that is not allowed, without repeating it (security case HOST-1)', async () => {
    for (const headers of [{ host: 'evil.example' }, { host: 'localhost@evil.example' }, { host: '<b>' }]) {
      const answer = await get(open(), openid, headers);
      expect([answer.statusCode, answer.json()]).toEqual([
        500,
        { isSuccess: false, error: 'server_error', message: 'The issuer or the keys cannot be resolved.' },
      ]);
      expect(answer.headers['cache-control']).toBe('no-store');
    }
  });

  it('answers 500 if the keys are unavailable and not cached', async () => {
    const answer = await get(open({}, { getPublicKeys: () => ({ keys: [] }) }), openid);
    expect([answer.statusCode, answer.json<{ error: string }>().error]).toEqual([500, 'server_error']);
  });

  it('accepts forwarded hosts from trusted proxies only (security case HOST-2)', async () => {
    const headers = { host: 'localhost', 'x-forwarded-host': '127.0.0.1:9999', 'x-forwarded-proto': 'https' };
    expect((await get(open(), openid, headers)).json()).toMatchObject({ issuer: 'http://localhost' });
    const behind = open({ TESSERA_TRUSTED_PROXIES: 'loopback' });
    expect((await get(behind, openid, headers)).json()).toMatchObject({ issuer: 'https://127.0.0.1:9999' });
    expect((await get(behind, openid, { ...headers, 'x-forwarded-host': 'evil.example' })).statusCode).toBe(
      500,
    );
  });
});

describe('GET /.well-known/oauth-authorization-server', () => {
  it('is the complete standard metadata (RFC 8414 §2)', async () => {
    const base = 'http://localhost';
    expect((await get(open(), server)).json()).toMatchObject({
      issuer: base,
      introspection_endpoint: `${base}/introspect`,
      revocation_endpoint: `${base}/revoke`,
      device_authorization_endpoint: `${base}/device_authorization`,
      backchannel_authentication_endpoint: `${base}/backchannel_authentication`,
      end_session_endpoint: `${base}/logout`,
      backchannel_logout_supported: true,
      backchannel_logout_session_supported: true,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      grant_types_supported: expect.arrayContaining([
        'urn:ietf:params:oauth:grant-type:device_code',
        'urn:openid:params:grant-type:ciba',
      ]) as string[],
    });
  });

  it('lists the delivery modes of the device service, and only poll before its first answer (CIBA Core §4)', async () => {
    const modesOf = async (gateway: ReturnType<typeof open>) =>
      (await get(gateway, server)).json<{ backchannel_token_delivery_modes_supported: string[] }>()
        .backchannel_token_delivery_modes_supported;
    const clock = fakeClock();
    let unavailable = true;
    const getDeliveryModes = () => {
      if (unavailable) throw new Error('unavailable');
      return { modes: ['poll', 'ping'] };
    };
    const gateway = open({}, { getDeliveryModes }, testRuntime({ clock }));
    expect(await modesOf(gateway)).toEqual(['poll']);
    unavailable = false;
    clock.advance(2_000);
    expect(await modesOf(gateway)).toEqual(['poll', 'ping']);
    expect(await modesOf(gateway)).toEqual(['poll', 'ping']);
    expect(gateway.requests('getDeliveryModes')).toHaveLength(2);
    unavailable = true;
    clock.advance(3_600_000);
    expect(await modesOf(gateway)).toEqual(['poll', 'ping']);
  });
});

describe('GET /.well-known/jwks.json', () => {
  it('publishes the keys, cacheable for five minutes (RFC 7517 §5)', async () => {
    const answer = await get(open(), jwks);
    expect(answer.json()).toEqual({
      keys: [{ kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'key-1', n: 'bW9kdWx1cw', e: 'AQAB' }],
    });
    expect(answer.headers['cache-control']).toBe('public, max-age=300');
  });

  it('publishes the keys of each algorithm with the members of their key type and no other (RFC 7518 §6)', async () => {
    const members = { kty: 'EC', crv: 'P-256', x: 'eA', y: 'eQ', d: 'private' };
    const rsa = { kid: 'key-1', algorithm: 'RS256', members: { n: 'bg', e: 'AQAB' } };
    const getPublicKeys = ({ algorithms }: { algorithms: string[] }) => ({
      keys: [rsa, { kid: 'key-2', algorithm: 'ES256', members }],
      algorithms,
    });
    const gateway = open({}, { getPublicKeys });
    expect((await get(gateway, jwks)).json()).toEqual({
      keys: [
        { kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'key-1', n: 'bg', e: 'AQAB' },
        { kty: 'EC', use: 'sig', alg: 'ES256', kid: 'key-2', crv: 'P-256', x: 'eA', y: 'eQ' },
      ],
    });
    expect(gateway.requests('getPublicKeys')).toEqual([
      expect.objectContaining({ algorithms: ['RS256', 'ES256'] }),
    ]);
  });

  it('serves all documents from the cached keys for a day while the keys service is unavailable, and exports the age (F16)', async () => {
    const clock = fakeClock();
    let unavailable = false;
    const getPublicKeys = () => {
      if (unavailable) throw new Error('unavailable');
      return { keys: [{ kid: 'key-1', algorithm: 'RS256', members: { n: 'bg', e: 'AQAB' } }] };
    };
    const gateway = open({}, { getPublicKeys }, testRuntime({ clock }));
    await gateway.ready();
    unavailable = true;
    clock.advance(3_600_000);
    for (const url of [openid, server, jwks]) expect((await get(gateway, url)).statusCode).toBe(200);
    expect(await metrics.text()).toMatch(/^tessera_key_set_age_seconds 3600$/m);
    clock.advance(24 * 3_600_000);
    const answer = await get(gateway, jwks);
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([503, 'no-store']);
    expect(answer.json()).toMatchObject({ isSuccess: false, error: 'temporarily_unavailable' });
    expect((await get(gateway, openid)).statusCode).toBe(500);
    expect(await metrics.text()).toMatch(/^tessera_key_set_age_seconds 90000$/m);
  });

  it('answers 503 and is not ready if no keys are cached', async () => {
    const gateway = open({}, { getPublicKeys: () => ({ keys: [] }) });
    expect((await get(gateway, jwks)).statusCode).toBe(503);
    await expect(gateway.ready()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  });
});

describe('every public document', () => {
  const documents = [openid, server, jwks];

  it('answers 400 to a forged host, and 500 for the discovery document', async () => {
    const gateway = open();
    const statuses = await Promise.all(
      documents.map(async (url) => (await get(gateway, url, { host: 'evil.example' })).statusCode),
    );
    expect(statuses).toEqual([500, 400, 400]);
  });

  it('does not depend on the host if the issuer is set, and can then be cached', async () => {
    const gateway = open({ TESSERA_ISSUER: 'https://id.example.com' });
    for (const url of documents) {
      const answer = await get(gateway, url, { host: 'evil.example' });
      expect(answer.statusCode).toBe(200);
      expect(answer.body).not.toContain('evil.example');
      expect(answer.headers['cache-control']).toBe('public, max-age=300');
    }
  });

  it('is not cached if its issuer was inferred from the host (security case HOST-4)', async () => {
    for (const url of [openid, server]) {
      expect((await get(open(), url)).headers['cache-control']).toBe('no-store');
    }
  });
});
