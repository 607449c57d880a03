import { describe, expect, it } from 'vitest';
import { OAuthError, requireIdentityScope, temporarilyUnavailable } from '@tessera/oauth';
import { testRuntime } from '@tessera/test-kit';
import { openGateway, type Behaviours } from '../testing/fake-services.ts';

const open = (
  userInfo: NonNullable<Behaviours['userInfo']> = () => ({ sub: 'u1', name: 'Ada', email: 'a@b.c' }),
) => openGateway(testRuntime(), { userInfo });

describe.each(['GET', 'POST'] as const)('%s /userinfo', (method) => {
  const ask = (gateway: ReturnType<typeof open>, authorization?: string, url = '/userinfo') =>
    gateway.app.inject({ method, url, headers: authorization === undefined ? {} : { authorization } });

  it('returns only the released claims, uncached (OIDC Core §5.3.2)', async () => {
    const gateway = open();
    const answer = await ask(gateway, 'Bearer a.b.c');
    expect([answer.statusCode, answer.json()]).toEqual([200, { sub: 'u1', name: 'Ada', email: 'a@b.c' }]);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(gateway.requests('userInfo')[0]).toMatchObject({ accessToken: 'a.b.c' });
  });

  it('returns the phone number as phone_number and omits unreleased claims', async () => {
    expect(
      (
        await ask(
          open(() => ({ sub: 'u1', phoneNumber: '+46' })),
          'bearer x',
        )
      ).json(),
    ).toEqual({
      sub: 'u1',
      phone_number: '+46',
    });
  });

  it('returns further claims by their names, objects included (OIDC Core §5.1)', async () => {
    const claims = { updated_at: 1_700_000_000, email_verified: false, address: { country: 'SE' } };
    const answer = await ask(
      open(() => ({ sub: 'u1', name: 'Ada', claims })),
      'bearer x',
    );
    expect(answer.json()).toEqual({ sub: 'u1', name: 'Ada', ...claims });
  });

  it('answers 401 without an error code if no bearer token was sent (RFC 6750 §3.1)', async () => {
    for (const authorization of [undefined, 'Basic eDp5']) {
      const answer = await ask(open(), authorization);
      expect(answer.statusCode).toBe(401);
      expect(answer.headers['www-authenticate']).toBe('Bearer realm="tessera"');
      expect(answer.json()).toMatchObject({ isSuccess: false, error: 'invalid_token' });
    }
  });

  it.each(['Bearer', 'Bearer a b', 'Bearer "x"', 'Bearer <script>'])(
    'answers 401 to %j',
    async (authorization) => {
      const gateway = open();
      const answer = await ask(gateway, authorization);
      expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([
        401,
        'Bearer realm="tessera", error="invalid_token", error_description="A bearer access token is required."',
      ]);
      expect(gateway.requests('userInfo')).toEqual([]);
    },
  );

  it('accepts no token from the query (RFC 9700 §4.3)', async () => {
    const gateway = open();
    expect((await ask(gateway, undefined, '/userinfo?access_token=a.b.c')).statusCode).toBe(401);
    expect(gateway.requests('userInfo')).toEqual([]);
  });

  it.each([
    [
      new OAuthError('invalid_token', 'The "token" is invalid.'),
      401,
      /error="invalid_token", error_description="The token is/,
    ],
    [
      new OAuthError('insufficient_scope', 'The policy forbids it.'),
      403,
      /error="insufficient_scope", error_description="The policy forbids it\."$/,
    ],
  ])('answers %s with %i and a challenge (RFC 6750 §3)', async (error, status, challenge) => {
    const gateway = open(() => {
      throw error;
    });
    const answer = await ask(gateway, 'Bearer x');
    expect(answer.statusCode).toBe(status);
    expect(answer.headers['www-authenticate']).toMatch(challenge);
  });

  it('names the required scope if the token lacks it (RFC 6750 §3)', async () => {
    const gateway = open(() => {
      requireIdentityScope(['orders.read']);
      return { sub: 'u1' };
    });
    const answer = await ask(gateway, 'Bearer x');
    expect(answer.statusCode).toBe(403);
    expect(answer.headers['www-authenticate']).toMatch(/error="insufficient_scope".*, scope="openid"$/);
  });

  it('answers 503 without a challenge if a service is unavailable', async () => {
    const gateway = open(() => {
      throw temporarilyUnavailable();
    });
    const answer = await ask(gateway, 'Bearer x');
    expect([answer.statusCode, answer.headers['www-authenticate']]).toEqual([503, undefined]);
  });
});

describe('an access token in the body of POST /userinfo (RFC 6750 §2.2)', () => {
  const post = (
    gateway: ReturnType<typeof open>,
    payload: string,
    headers: Record<string, string> = {},
    method: 'GET' | 'POST' = 'POST',
  ) =>
    gateway.app.inject({
      method,
      url: '/userinfo',
      headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      payload,
    });

  it('is accepted from a form', async () => {
    const gateway = open();
    const answer = await post(gateway, 'access_token=a.b.c');
    expect([answer.statusCode, answer.json()]).toEqual([200, { sub: 'u1', name: 'Ada', email: 'a@b.c' }]);
    expect(gateway.requests('userInfo')[0]).toMatchObject({ accessToken: 'a.b.c' });
  });

  it('is refused together with one in the header, twice, and in broken encoding (RFC 6750 §2)', async () => {
    const gateway = open();
    const both = await post(gateway, 'access_token=a.b.c', { authorization: 'Bearer a.b.c' });
    for (const answer of [
      both,
      ...(await Promise.all([
        post(gateway, 'access_token=a&access_token=a'),
        post(gateway, 'access_token=%'),
      ])),
    ]) {
      expect([answer.statusCode, answer.json()]).toMatchObject([400, { error: 'invalid_request' }]);
    }
    expect(gateway.requests('userInfo')).toEqual([]);
  });

  it('gets a challenge with its error code if it is not valid', async () => {
    const gateway = open(() => {
      throw new OAuthError('invalid_token', 'The access token is not valid.');
    });
    const answer = await post(gateway, 'access_token=a');
    expect(answer.statusCode).toBe(401);
    expect(answer.headers['www-authenticate']).toContain('error="invalid_token"');
  });

  it('is not read from other content types or from GET, and the header works with any other body', async () => {
    const gateway = open();
    const json = { 'content-type': 'application/json' };
    expect((await post(gateway, '{"access_token":"a"}', json)).statusCode).toBe(401);
    expect((await post(gateway, 'access_token=a', {}, 'GET')).statusCode).toBe(401);
    expect((await post(gateway, 'other=1')).statusCode).toBe(401);
    const authorization = 'Bearer a.b.c';
    expect((await post(gateway, 'other=1', { authorization })).statusCode).toBe(200);
    expect((await post(gateway, '{', { ...json, authorization })).statusCode).toBe(200);
  });
});
