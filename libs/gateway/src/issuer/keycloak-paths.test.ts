import { createHash, createPublicKey } from 'node:crypto';
import { describe, expect, it, onTestFinished } from 'vitest';
import { keycloakCookieCheck, keycloakPaths, keycloakProfile, keycloakRealm } from '@tessera/oauth';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const shared = 'https://id.example';
const harbour = `${shared}/realms/harbour`;
const below = '/protocol/openid-connect';
const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };

async function open(endpoints: string, behaviours: Behaviours = {}) {
  const issuers = [
    { tenantId: 'harbour', issuer: harbour, endpoints },
    { tenantId: 'acme', issuer: `${shared}/t/acme` },
  ];
  const gateway = openGateway(
    testRuntime(),
    { listTenantIssuers: () => ({ issuers }), ...behaviours },
    { TESSERA_ISSUER: shared },
  );
  onTestFinished(() => gateway.close());
  await gateway.app.ready();
  const ask = async (
    method: 'GET' | 'POST' | 'DELETE' | 'OPTIONS',
    path: string,
    headers: Readonly<Record<string, string>> = {},
    payload = '',
  ) => gateway.app.inject({ method, url: path, headers: { host: 'id.example', ...headers }, payload });
  return { gateway, ask };
}

describe('below an issuer with the endpoints of Keycloak', () => {
  it('metadata name its paths, each of which answers, as ours do', async () => {
    const { ask } = await open('keycloak');
    const metadata = (await ask('GET', '/realms/harbour/.well-known/openid-configuration')).json<
      Readonly<Record<string, unknown>>
    >();
    expect(metadata['issuer']).toBe(harbour);
    const named = Object.values(metadata).filter(
      (value): value is string => typeof value === 'string' && value.startsWith(`${harbour}/`),
    );
    expect(named.toSorted()).toEqual(
      Object.values(keycloakPaths)
        .map((path) => harbour + path)
        .toSorted(),
    );
    for (const path of Object.values(keycloakPaths)) {
      const answer = await ask('GET', `/realms/harbour${path}`);
      expect([path, answer.statusCode]).not.toEqual([path, 404]);
    }
    const sets = ['/protocol/openid-connect/certs', '/.well-known/jwks.json'];
    const [theirs, ours] = await Promise.all(sets.map(async (path) => ask('GET', `/realms/harbour${path}`)));
    expect([theirs?.statusCode, theirs?.body]).toEqual([200, ours?.body]);
  });

  it('forms get the answers of the standard (RFC 6749 §5.1)', async () => {
    const { gateway, ask } = await open('keycloak', {
      exchange: () => ({ accessToken: 'at', tokenType: 'Bearer', expiresIn: 600 }),
    });
    const asked = 'grant_type=client_credentials&client_id=shop&client_secret=s';
    const answer = await ask('POST', `/realms/harbour${below}/token`, form, asked);
    expect([answer.statusCode, answer.json()]).toMatchObject([200, { access_token: 'at' }]);
    expect(gateway.requests('exchange')[0]?.caller).toMatchObject({ issuer: harbour, tenantId: 'harbour' });
  });

  it('nobody gets the dialect of the contract there, and finds it at our paths', async () => {
    const { ask } = await open('keycloak', { exchange: () => ({ accessToken: 'at', tokenType: 'Bearer' }) });
    const asked = '{"grantType":"client_credentials","clientId":"shop","clientSecret":"s"}';
    const refused = await ask('POST', `/realms/harbour${below}/token`, json, asked);
    expect([refused.statusCode, refused.json()]).toEqual([
      415,
      { error: expect.any(String) as string, error_description: expect.any(String) as string },
    ]);
    expect((await ask('POST', '/realms/harbour/token', json, asked)).statusCode).toBe(200);
    for (const headers of [json, form]) {
      const removed = await ask('DELETE', `/realms/harbour${below}/revoke`, headers, '{"token":"tr_x"}');
      expect([removed.statusCode, removed.headers['allow']]).toEqual([405, 'POST']);
    }
  });
});

it('a sign-out there adds nothing of the contract to the address of the page, which keycloak-js sends next', async () => {
  const { gateway, ask } = await open('keycloak', {
    endSession: () => ({ location: 'https://shop.example/' }),
  });
  for (const path of [`${below}/logout`, '/logout'])
    await ask('GET', `/realms/harbour${path}?client_id=shop`, { 'sec-fetch-site': 'none' });
  expect(gateway.requests('endSession').map(({ refuseFallback }) => refuseFallback)).toEqual([true, false]);
});

describe('keycloak-js in a browser', () => {
  const origin = 'https://shop.example';

  it('may read answers with cookies, which other scripts may without (Fetch §3.2.3)', async () => {
    const { ask } = await open('keycloak');
    const allowed = async (path: string) => {
      const { headers } = await ask('GET', path, { origin });
      return [headers['access-control-allow-origin'], headers['access-control-allow-credentials']];
    };
    expect(await allowed(`/realms/harbour${below}/certs`)).toEqual([origin, 'true']);
    expect(await allowed('/realms/harbour/.well-known/jwks.json')).toEqual(['*', undefined]);
    expect(await allowed('/.well-known/jwks.json')).toEqual(['*', undefined]);
    const page = await ask('GET', `/realms/harbour${below}/auth`, { origin });
    expect(page.headers['access-control-allow-origin']).toBeUndefined();
    const preflight = await ask('OPTIONS', `/realms/harbour${below}/userinfo`, { origin });
    expect([preflight.statusCode, preflight.headers]).toMatchObject([
      204,
      {
        'access-control-allow-origin': origin,
        'access-control-allow-credentials': 'true',
        'access-control-allow-headers': 'authorization, content-type',
        vary: 'Origin',
      },
    ]);
    const without = await ask('GET', `/realms/harbour${below}/certs`);
    expect(without.headers).toMatchObject({ 'access-control-allow-origin': '*', vary: 'Origin' });
  });

  it('learns in a frame that frames get no cookies, from a page that runs that one script', async () => {
    const { ask } = await open('keycloak');
    const { statusCode, headers, body } = await ask('GET', `/realms/harbour${keycloakCookieCheck}`);
    const [, script = ''] = /<script>(.*)<\/script>/.exec(body) ?? [];
    const digest = createHash('sha256').update(script).digest('base64');
    expect([statusCode, script]).toEqual([200, "parent.postMessage('unsupported', '*')"]);
    expect(headers['content-security-policy']).toContain(`script-src 'sha256-${digest}'`);
    expect(headers).not.toHaveProperty('x-frame-options');
    expect(headers).not.toHaveProperty('set-cookie');
  });
});

describe('the address of an issuer itself', () => {
  it('says of the realm what Keycloak says, with the key of its tokens as DER', async () => {
    const { ask } = await open('keycloak');
    for (const path of ['/realms/harbour', '/realms/harbour/']) {
      const answer = await ask('GET', path, { origin: 'https://shop.example' });
      const { public_key: key, ...rest } = answer.json<Readonly<Record<string, string>>>();
      expect([answer.statusCode, rest]).toEqual([
        200,
        {
          realm: 'harbour',
          'token-service': `${harbour}/protocol/openid-connect`,
          'account-service': `${harbour}/account`,
          'tokens-not-before': 0,
        },
      ]);
      const { keys } = (await ask('GET', '/realms/harbour/.well-known/jwks.json')).json<{
        keys: { n: string }[];
      }>();
      const read = createPublicKey({ key: Buffer.from(key ?? '', 'base64'), format: 'der', type: 'spki' });
      expect(read.export({ format: 'jwk' }).n).toBe(keys[0]?.n);
      expect(answer.headers['access-control-allow-origin']).toBe('https://shop.example');
    }
    expect((await ask('POST', '/realms/harbour', form)).statusCode).toBe(404);
    expect((await ask('GET', `/realms/harbour${keycloakRealm}`)).statusCode).toBe(404);
  });

  it.each([
    ['standard', '/realms/harbour'],
    ['keycloak', '/t/acme'],
    ['keycloak', '/'],
  ])('is nothing without the paths of Keycloak: %s, %s', async (endpoints, path) => {
    const { ask } = await open(endpoints);
    expect((await ask('GET', path)).statusCode).toBe(404);
  });
});

describe('/account below such an issuer', () => {
  const authorization = 'Bearer at';
  const claims = {
    preferred_username: 'ada',
    given_name: 'Ada',
    email_verified: true,
    department: 'Engines',
  };
  const userInfo = () => ({ sub: 'usr_1', email: 'ada@harbour.example', claims });

  it('is the profile of the person for a script with an access token, and a page for people', async () => {
    const { gateway, ask } = await open('keycloak', { userInfo });
    const answer = await ask('GET', '/realms/harbour/account', {
      authorization,
      origin: 'https://shop.example',
    });
    expect([answer.statusCode, answer.json(), answer.headers]).toMatchObject([
      200,
      { id: 'usr_1', username: 'ada', firstName: 'Ada', email: 'ada@harbour.example', emailVerified: true },
      { 'access-control-allow-origin': 'https://shop.example', 'cache-control': 'no-store' },
    ]);
    expect(answer.json()).not.toHaveProperty('department');
    expect(gateway.requests('userInfo')).toMatchObject([
      { accessToken: 'at', caller: { tenantId: 'harbour' } },
    ]);
    const asked = { origin: 'https://shop.example', 'access-control-request-headers': 'authorization' };
    const preflight = await ask('OPTIONS', '/realms/harbour/account', asked);
    expect([preflight.statusCode, preflight.headers['access-control-allow-methods']]).toEqual([
      204,
      'GET, OPTIONS',
    ]);
    const page = await ask('GET', '/realms/harbour/account?referrer=shop', { accept: 'text/html' });
    expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
    expect(gateway.requests('userInfo')).toHaveLength(1);
    expect(page.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('is no profile elsewhere, nor for others than who holds a token', async () => {
    const { gateway, ask } = await open('standard', { userInfo });
    for (const path of ['/realms/harbour/account', '/account'])
      expect((await ask('GET', path, { authorization })).json()).not.toHaveProperty('username');
    expect(
      (await ask('OPTIONS', '/account', { 'access-control-request-headers': 'authorization' })).statusCode,
    ).toBe(405);
    expect(gateway.requests('userInfo')).toEqual([]);
  });
});

describe('the paths of Keycloak are unknown', () => {
  it.each([
    ['below an issuer without them', 'standard', '/realms/harbour'],
    ['below an issuer whose directory does not say', '', '/realms/harbour'],
    ['below another issuer', 'keycloak', '/t/acme'],
    ['at the shared issuer', 'keycloak', ''],
  ])('%s', async (_where, endpoints, base) => {
    const { ask } = await open(endpoints);
    for (const path of [...Object.values(keycloakPaths), keycloakCookieCheck, keycloakRealm, keycloakProfile])
      for (const method of ['GET', 'POST'] as const)
        expect([path, (await ask(method, base + path, method === 'POST' ? form : {})).statusCode]).toEqual([
          path,
          404,
        ]);
  });
});
