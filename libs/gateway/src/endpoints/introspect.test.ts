import { describe, expect, it } from 'vitest';
import { temporarilyUnavailable } from '@tessera/oauth';
import { TokenKind } from '@tessera/proto-gen/token';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const active = {
  active: true,
  sub: 'u1',
  clientId: 'web',
  scope: 'openid orders.read',
  exp: 1_700_000_600n,
  iat: 1_700_000_000n,
  aud: 'https://api',
  iss: 'http://localhost',
  tenantId: 'acme',
  role: ['clerk'],
  jti: 'j1',
  username: 'ada',
  kind: TokenKind.ACCESS_TOKEN,
};

const open = (
  introspect: NonNullable<Behaviours['introspect']> = () => active,
  environment: Record<string, string> = {},
) => openGateway(testRuntime(), { introspect }, environment);

const json = { 'content-type': 'application/json' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const strict = { TESSERA_PROFILE: 'strict', TESSERA_ISSUER: 'https://id.example.com' };

const ask = (
  gateway: ReturnType<typeof open>,
  options: { from?: string; headers?: object; body?: string } = {},
) =>
  gateway.app.inject({
    method: 'POST',
    url: '/introspect',
    remoteAddress: options.from ?? '127.0.0.1',
    headers: { ...json, ...options.headers },
    payload: options.body ?? '{"token":"t"}',
  });

describe('POST /introspect', () => {
  const members = {
    active: true,
    sub: 'u1',
    client_id: 'web',
    scope: 'openid orders.read',
    exp: 1_700_000_600,
    aud: 'https://api',
    iss: 'http://localhost',
    iat: 1_700_000_000,
    token_type: 'Bearer',
    tenant_id: 'acme',
    username: 'ada',
  };

  it('answers JSON with the envelope and exactly the members of the contract and the decisions', async () => {
    const answer = await ask(open());
    expect(answer.json()).toEqual({ isSuccess: true, data: members });
    expect(answer.headers['cache-control']).toBe('no-store');
  });

  it('tells all audiences of a token that has several (RFC 7662 §2.2)', async () => {
    const audiences = ['https://api', 'account'];
    const answer = await ask(open(() => ({ ...active, audiences })));
    expect(answer.json()).toEqual({ isSuccess: true, data: { ...members, aud: audiences } });
  });

  it('answers a form request without the envelope (RFC 7662 §2.2)', async () => {
    expect(
      (await ask(open(), { headers: form, body: 'token=t&token_type_hint=access_token' })).json(),
    ).toEqual(members);
  });

  it('gives a refresh token no token_type', async () => {
    const gateway = open(() => ({ ...active, kind: TokenKind.REFRESH_TOKEN }));
    expect((await ask(gateway, { headers: form, body: 'token=t' })).json()).not.toHaveProperty('token_type');
  });

  it('answers only active=false for an inactive token (RFC 7662 §2.2)', async () => {
    const gateway = open(() => ({ active: false, sub: 'leak', exp: 1n }));
    expect((await ask(gateway)).json()).toEqual({ isSuccess: true, data: { active: false } });
    expect((await ask(gateway, { headers: form, body: 'token=t' })).json()).toEqual({ active: false });
  });

  it.each(['{}', '{"token":""}', '{"client_id":"x"}'])(
    'answers 400 with the message of the contract to %s',
    async (body) => {
      const answer = await ask(open(), { body });
      expect([answer.statusCode, answer.json()]).toEqual([
        400,
        { isSuccess: false, error: 'invalid_request', message: 'Invalid request.' },
      ]);
    },
  );

  it('answers 503 and never an inactive token while a store is unavailable', async () => {
    const gateway = open(() => {
      throw temporarilyUnavailable();
    });
    const answer = await ask(gateway);
    expect([answer.statusCode, answer.json<{ error: string }>().error]).toEqual([
      503,
      'temporarily_unavailable',
    ]);
    expect(answer.body).not.toContain('active"');
  });

  it('accepts no token from the query (security case INT-8)', async () => {
    const gateway = open();
    const answer = await gateway.app.inject({ method: 'GET', url: '/introspect?token=t' });
    expect([answer.statusCode, answer.headers['allow']]).toEqual([405, 'POST']);
    expect((await ask(gateway, { body: '{}' })).statusCode).toBe(400);
    expect(gateway.requests('introspect')).toEqual([]);
  });
});

describe.each([
  ['POST', '/introspect'],
  ['DELETE', '/revoke'],
] as const)('%s %s without credentials', (method, url) => {
  const openBoth = (environment: Record<string, string> = {}) =>
    openGateway(testRuntime(), { introspect: () => active, revoke: () => ({}) }, environment);
  const call = (
    gateway: ReturnType<typeof openBoth>,
    from: string,
    headers: Record<string, string> = {},
    body: object = {},
  ) =>
    gateway.app.inject({
      method,
      url,
      remoteAddress: from,
      headers: { ...json, ...headers },
      payload: JSON.stringify({ token: 't', ...body }),
    });

  it.each(['127.0.0.1', '::1', '::ffff:127.0.0.1', '10.1.2.3', '172.16.0.1', '192.168.1.1', 'fd00::1'])(
    'is open to %s in the contract profile',
    async (address) => {
      expect((await call(openBoth(), address)).statusCode).toBe(200);
    },
  );

  it.each(['203.0.113.9', '2001:db8::1', '172.32.0.1', '169.254.1.1', '::ffff:203.0.113.9'])(
    'is closed to %s',
    async (address) => {
      const gateway = openBoth();
      const answer = await call(gateway, address);
      expect([answer.statusCode, answer.json<{ error: string }>().error]).toEqual([401, 'invalid_client']);
      expect([...gateway.requests('introspect'), ...gateway.requests('revoke')]).toEqual([]);
    },
  );

  it('ignores forwarded headers of a peer other than a trusted proxy (security cases XFF-2 and XFF-4)', async () => {
    const headers = { 'x-forwarded-for': '127.0.0.1', 'x-real-ip': '127.0.0.1', forwarded: 'for=127.0.0.1' };
    expect((await call(openBoth(), '203.0.113.9', headers)).statusCode).toBe(401);
    expect((await call(openBoth(), '127.0.0.1', { 'x-forwarded-for': '203.0.113.9' })).statusCode).toBe(200);
  });

  it('uses the right-most untrusted hop behind a trusted proxy (security case XFF-3)', async () => {
    const gateway = openBoth({ TESSERA_TRUSTED_PROXIES: '10.0.0.0/8' });
    expect(
      (await call(gateway, '10.0.0.1', { 'x-forwarded-for': '127.0.0.1, 203.0.113.9' })).statusCode,
    ).toBe(401);
    expect(
      (await call(gateway, '10.0.0.1', { 'x-forwarded-for': '203.0.113.9, 192.168.0.7' })).statusCode,
    ).toBe(200);
  });

  it('refuses a caller that sends only its client identifier', async () => {
    expect((await call(openBoth(), '203.0.113.9', {}, { clientId: 'web' })).statusCode).toBe(401);
  });

  it('forwards credentials from any address for verification', async () => {
    for (const from of ['127.0.0.1', '203.0.113.9']) {
      const gateway = openBoth();
      await call(gateway, from, {}, { clientId: 'web', clientSecret: 's' });
      const request = gateway.requests(method === 'POST' ? 'introspect' : 'revoke')[0];
      expect(request?.credentials).toMatchObject({ clientId: 'web', clientSecret: 's' });
    }
  });

  it('refuses every unauthenticated caller in the strict profile', async () => {
    expect((await call(openBoth(strict), '127.0.0.1')).statusCode).toBe(401);
  });

  it('accepts the configured callers only', async () => {
    const gateway = openBoth({ TESSERA_TRUSTED_CALLERS: '198.51.100.0/24' });
    expect((await call(gateway, '198.51.100.7')).statusCode).toBe(200);
    expect((await call(gateway, '127.0.0.1')).statusCode).toBe(401);
  });
});
