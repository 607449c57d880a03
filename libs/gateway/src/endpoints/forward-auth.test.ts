import { describe, expect, it } from 'vitest';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { TokenKind } from '@tessera/proto-gen/token';
import { fakeClock, testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const audience = 'https://orders.acme.example';
const claims = {
  active: true,
  kind: TokenKind.ACCESS_TOKEN,
  sub: 'usr_ada',
  clientId: 'acme-web',
  tenantId: 'acme',
  aud: audience,
  scope: 'orders.read orders.write',
  role: ['clerk', 'Größe, 100 %'],
};

const open = (introspect: NonNullable<Behaviours['introspect']> = () => claims) =>
  openGateway(testRuntime(), { introspect });

function ask(
  gateway: ReturnType<typeof open>,
  query: Record<string, string> | string = { audience },
  authorization: string | undefined = 'Bearer a.b.c',
) {
  const url = `/auth/verify?${new URLSearchParams(query).toString()}`;
  return gateway.app.inject({
    method: 'GET',
    url,
    headers: authorization === undefined ? {} : { authorization },
  });
}

describe('GET /auth/verify', () => {
  it('answers 200 with headers that describe the caller, uncached', async () => {
    const gateway = open();
    const answer = await ask(gateway, { audience, scope: 'orders.read', tenant: 'acme' });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-store',
      'x-auth-subject': 'usr_ada',
      'x-auth-client-id': 'acme-web',
      'x-auth-tenant-id': 'acme',
      'x-auth-scope': 'orders.read orders.write',
      'x-auth-roles': 'clerk,Gr%C3%B6%C3%9Fe%2C%20100%20%25',
    });
    expect(gateway.requests('introspect')[0]).toMatchObject({ token: 'a.b.c' });
  });

  it('sends every header, empty where the token has no value, so that a proxy replaces what the caller sent', async () => {
    const answer = await ask(open(() => ({ ...claims, scope: '', role: [] })));
    expect(answer.headers).toMatchObject({ 'x-auth-scope': '', 'x-auth-roles': '' });
  });

  it.each([
    ['is inactive', { active: false }],
    ['is a refresh token', { kind: TokenKind.REFRESH_TOKEN }],
    ['has another audience', { aud: 'https://billing.acme.example' }],
    ['is of another tenant', { tenantId: 'globex' }],
  ])('answers 401 with a challenge if the token %s (RFC 6750 §3.1)', async (_, difference) => {
    const gateway = open(() => ({ ...claims, ...difference }));
    const answer = await ask(gateway, { audience, tenant: 'acme' });
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toMatch(/^Bearer realm="tessera", error="invalid_token"/);
    expect(answer.headers['x-auth-subject']).toBeUndefined();
  });

  it('answers 401 without an error code if there is no bearer token (RFC 6750 §3.1)', async () => {
    const gateway = open();
    const missing = await gateway.app.inject({ method: 'GET', url: `/auth/verify?audience=${audience}` });
    for (const answer of [missing, await ask(gateway, { audience }, 'Basic eDp5')]) {
      expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([
        401,
        'Bearer realm="tessera"',
      ]);
    }
    expect(gateway.requests('introspect')).toEqual([]);
  });

  it('answers 403 and names the scopes of the route if the token lacks one (RFC 6750 §3)', async () => {
    const answer = await ask(open(), { audience, scope: 'orders.read orders.rea' });
    expect(answer.statusCode).toBe(403);
    expect(answer.headers['www-authenticate']).toMatch(
      /error="insufficient_scope".*, scope="orders.read orders.rea"$/,
    );
  });

  describe('on a route that demands a sign-in', () => {
    const now = 1_800_000_000;
    const at = (authTime: number, acr: string) =>
      openGateway(testRuntime({ clock: fakeClock(now * 1000) }), {
        introspect: () => ({ ...claims, authTime: BigInt(authTime), acr }),
      });

    it.each([
      ['of the class', now - 10, '1', { acr_values: '1' }],
      ['of a stronger class', now - 10, '2', { acr_values: 'urn:other 1' }],
      ['young enough', now - 300, '1', { max_age: '300' }],
      ['of both', now, '2', { acr_values: '2', max_age: '0' }],
    ])('lets a token pass whose sign-in is %s (RFC 9470 §5)', async (_, authTime, acr, demand) => {
      expect((await ask(at(authTime, acr), { audience, ...demand })).statusCode).toBe(200);
    });

    it.each([
      ['of a weaker class', now, '1', { acr_values: '2' }, ', acr_values="2"'],
      [
        'too long ago',
        now - 301,
        '2',
        { acr_values: '2', max_age: '300' },
        ', acr_values="2", max_age="300"',
      ],
      ['unknown, without a class', 0, '', { acr_values: '1' }, ', acr_values="1"'],
      ['unknown, without a time', 0, '', { max_age: '999999999' }, ', max_age="999999999"'],
    ])(
      'answers 401 with what the client must ask for if it is %s (RFC 9470 §3)',
      async (_, authTime, acr, demand, needed) => {
        const answer = await ask(at(authTime, acr), { audience, ...demand });
        expect(answer.statusCode).toBe(401);
        const challenge = answer.headers['www-authenticate'] as string;
        expect(challenge).toMatch(/^Bearer realm="tessera", error="insufficient_user_authentication", /);
        expect(challenge.endsWith(needed)).toBe(true);
      },
    );

    it.each([
      { acr_values: '8 9' },
      { acr_values: '' },
      { max_age: '-1' },
      { max_age: '' },
      { max_age: '1.5' },
    ])('answers 400 to %j: no sign-in could ever meet it', async (demand) => {
      expect((await ask(open(), { audience, ...demand })).statusCode).toBe(400);
    });
  });

  it.each(['', 'scope=orders.read', 'audience=', 'audience=a&audience=b', 'audience=a&scopes=b'])(
    'answers 400 to the query "%s": the route must say what it demands',
    async (query) => {
      const gateway = open();
      expect((await ask(gateway, query)).statusCode).toBe(400);
      expect(gateway.requests('introspect')).toEqual([]);
    },
  );

  it('answers 503 without a challenge while the token cannot be judged', async () => {
    const answer = await ask(
      open(() => {
        throw temporarilyUnavailable();
      }),
    );
    expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([503, undefined]);
    expect(answer.headers['retry-after']).toBeDefined();
  });

  it('forwards a refusal of the token service', async () => {
    const answer = await ask(
      open(() => {
        throw new OAuthError('invalid_request', 'Invalid request.');
      }),
    );
    expect(answer.statusCode).toBe(400);
  });
});
