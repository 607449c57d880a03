import { describe, expect, it } from 'vitest';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import type { AuthorizationRequest, BeginRequest } from '@tessera/proto-gen/authorize';
import { testRuntime } from '@tessera/test-kit';
import { parseForms } from '@tessera/test-kit/provision';
import { openGateway, passwordStep, type Behaviours } from '../../testing/fake-services.ts';

const interaction = {
  interactionId: 'ti_abc',
  tenantId: 'acme',
  tenantName: 'Acme',
  clientId: 'web',
  applicationName: 'Acme Web',
  loginHint: '',
  scopes: ['openid'],
};
const toLogin: NonNullable<Behaviours['begin']> = () => passwordStep(interaction);
const open = (begin: NonNullable<Behaviours['begin']> = toLogin, environment: Record<string, string> = {}) =>
  openGateway(testRuntime(), { begin }, environment);

const html = { accept: 'text/html,*/*;q=0.8' };
const get = (gateway: ReturnType<typeof open>, query: string, headers: Record<string, string> = {}) =>
  gateway.app.inject({ method: 'GET', url: `/authorize${query}`, headers });

function asked({ visit }: BeginRequest): AuthorizationRequest {
  if (visit.case !== 'request') throw new Error('no authorization request');
  return visit.value;
}

const query =
  '?client_id=web&redirect_uri=https%3A%2F%2Fapp%2Fcb&response_type=code&scope=openid&state=a%22%3E';

describe('POST /authorize', () => {
  const post = (
    gateway: ReturnType<typeof open>,
    payload: string,
    type = 'application/x-www-form-urlencoded',
  ) =>
    gateway.app.inject({
      method: 'POST',
      url: '/authorize',
      headers: { 'content-type': type, origin: 'https://app.example' },
      payload,
    });

  it('redirects a cross-site form to GET with every parameter (OIDC Core section 3.1.2.1)', async () => {
    const gateway = open();
    const answer = await post(gateway, query.slice(1));
    expect([answer.statusCode, answer.headers.location]).toEqual([303, `/authorize${query}`]);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(gateway.requests('begin')).toEqual([]);
    expect(
      (await get(gateway, new URL(answer.headers.location ?? '', 'http://localhost').search)).statusCode,
    ).toBe(302);
  });

  it('refuses other content types and repeated parameters (RFC 6749 section 3.1)', async () => {
    expect((await post(open(), '{}', 'application/json')).statusCode).toBe(415);
    expect((await post(open(), 'client_id=a&client_id=b')).statusCode).toBe(400);
  });
});

describe('GET /authorize', () => {
  it.each([
    ['is too long for a proxy with 4 KiB for the headers of an answer', `extra=${'s'.repeat(1600)}`],
    ['has an ID token, which belongs in no address that is kept', 'id_token_hint=x'],
  ])('carries to the page only which client a request is from that %s', async (_what, more) => {
    const verifyIdTokenHint = () => ({ valid: true, sub: 'u1' });
    const gateway = openGateway(testRuntime(), { begin: toLogin, verifyIdTokenHint });
    const answer = await get(gateway, `${query}&${more}`);
    const part = '&client_id=web&redirect_uri=https%3A%2F%2Fapp%2Fcb';
    expect([answer.statusCode, answer.headers.location]).toEqual([
      302,
      `/login?interaction=ti_abc&again=${Buffer.from(part).toString('base64url')}`,
    ]);
  });

  it('forwards the parameters unchanged and redirects to /login if a sign-in is needed', async () => {
    const gateway = open();
    const answer = await get(gateway, query, { ...html, 'user-agent': 'Browser/1' });
    const again = Buffer.from(query.slice(1)).toString('base64url');
    const location = `/login?interaction=ti_abc&again=${again}`;
    expect([answer.statusCode, answer.headers.location]).toEqual([302, location]);
    const [request] = gateway.requests('begin');
    expect(request && asked(request).parameters).toEqual({
      client_id: 'web',
      redirect_uri: 'https://app/cb',
      response_type: 'code',
      scope: 'openid',
      state: 'a">',
    });
    expect(request?.browser).toMatchObject({
      sessionToken: '',
      ipAddress: '127.0.0.1',
      issuer: 'http://localhost',
    });
    expect(request?.browser?.userAgentHash).toMatch(/^[\w-]{43}$/);
    expect(answer.cookies).toEqual([
      {
        name: 'tessera_browser',
        value: request?.browser?.browserId,
        path: '/',
        httpOnly: true,
        sameSite: 'Lax',
      },
    ]);
  });

  it('forwards the person of a valid id_token_hint, or that it is invalid (OIDC Core section 3.1.2.1)', async () => {
    const gateway = openGateway(testRuntime(), {
      begin: toLogin,
      verifyIdTokenHint: ({ idToken }) => ({
        valid: idToken === 'good',
        sub: idToken === 'good' ? 'usr_ada' : '',
      }),
    });
    await get(gateway, `${query}&id_token_hint=good`);
    await get(gateway, `${query}&id_token_hint=bad`);
    await get(gateway, query);
    const forwarded = gateway
      .requests('begin')
      .map(asked)
      .map(({ hintedUserId, idTokenHintIsInvalid }) => [hintedUserId, idTokenHintIsInvalid]);
    expect(forwarded).toEqual([
      ['usr_ada', false],
      ['', true],
      ['', false],
    ]);
    expect(gateway.requests('verifyIdTokenHint')).toHaveLength(2);
  });

  it.each([
    ['https://app.example/cb?a=1&b=%22', 'https://app.example'],
    ['http://127.0.0.1:9000/cb', 'http://127.0.0.1:9000'],
    ['http://[::1]:9000/cb', 'http://*:9000'],
  ])(
    'posts a response to %s with a page that may post only there (OAuth 2.0 Form Post Response Mode §2)',
    async (uri, source) => {
      const parameters = { code: 'tc_1', state: '"><script>', iss: 'https://id.example' };
      const formPost = { uri, parameters };
      const value = { location: 'https://app.example/in-the-query', formPost };
      const gateway = open(() => ({ next: { next: { case: 'redirect', value } } }));
      for (const headers of [html, { accept: 'application/json' }]) {
        const answer = await get(gateway, query, headers);
        expect([answer.statusCode, answer.headers.location]).toEqual([200, undefined]);
        expect(answer.headers).toMatchObject({
          'content-type': 'text/html; charset=utf-8',
          'cache-control': 'no-store',
          'referrer-policy': 'origin',
        });
        const policy = String(answer.headers['content-security-policy']).split('; ');
        expect(policy).toContain(`form-action ${source}`);
        expect(policy).toContain("script-src 'self'");
        const [form] = parseForms(answer.body, new URL('http://localhost'));
        expect([form?.method, form?.action.href]).toEqual(['POST', uri]);
        expect(Object.fromEntries(form?.fields ?? [])).toEqual(parameters);
        expect(answer.body).toContain('<button type="submit">Continue</button>');
        expect(answer.body).not.toContain('"><script>');
        const script = /<script src="([^"]+)" defer>/.exec(answer.body)?.[1] ?? '';
        expect((await gateway.app.inject(script)).body).toContain('submit()');
      }
    },
  );

  it('names the application to which a response is posted, and has the looks of its tenant', async () => {
    const formPost = { uri: 'https://app.example/cb', parameters: { code: 'tc_1' }, clientId: 'web' };
    const posting = () => ({ next: { next: { case: 'redirect' as const, value: { formPost } } } });
    const tenant = { tenantId: 'acme', name: 'Acme' };
    const gateway = openGateway(testRuntime(), {
      begin: posting,
      getApplication: ({ clientId }) => ({ application: { clientId, name: 'Acme & Web' }, tenant }),
    });
    const { body } = await get(gateway, query, html);
    expect(body).toContain('You will be sent back to <strong>Acme &#38; Web</strong>.');
    expect(body).toContain('<button type="submit">Continue to Acme &amp; Web</button>');
    expect(body).toContain('<span class="brand">Acme</span>');
    const failing = openGateway(testRuntime(), {
      begin: posting,
      getApplication: () => {
        throw temporarilyUnavailable();
      },
    });
    const unnamed = await get(failing, query, html);
    expect([unnamed.statusCode, unnamed.body.includes('sent back to the application.')]).toEqual([200, true]);
  });

  it('gives cookies the __Host- prefix and Secure if the issuer is https', async () => {
    const gateway = open(toLogin, { TESSERA_ISSUER: 'https://id.example.com' });
    const answer = await get(gateway, query);
    expect(answer.cookies).toMatchObject([
      { name: '__Host-tessera_browser', secure: true, httpOnly: true, path: '/' },
    ]);
    const browser = answer.cookies[0]?.value ?? '';
    await get(gateway, query, { cookie: `__Host-tessera_browser=${browser}; __Host-tessera_session=ts_x` });
    await get(gateway, query, { cookie: `tessera_browser=${browser}; tessera_session=ts_x` });
    const [, known, foreign] = gateway.requests('begin');
    expect(known?.browser).toMatchObject({ browserId: browser, sessionToken: 'ts_x' });
    expect(foreign?.browser?.sessionToken).toBe('');
    expect(foreign?.browser?.browserId === browser).toBe(false);
  });

  it('keeps a valid cookie and replaces a malformed one', async () => {
    const gateway = open();
    const value = `tb_${'a'.repeat(43)}`;
    expect((await get(gateway, query, { cookie: `tessera_browser=${value}` })).cookies).toEqual([]);
    expect((await get(gateway, query, { cookie: 'tessera_browser="><script>' })).cookies).toHaveLength(1);
  });

  it('answers 302 to the redirect URI if no interaction is needed', async () => {
    const location = 'https://app/cb?code=tc_1&state=x';
    const gateway = open(() => ({ next: { next: { case: 'redirect', value: { location } } } }));
    const answer = await get(gateway, query);
    expect([answer.statusCode, answer.headers.location, answer.headers['cache-control']]).toEqual([
      302,
      location,
      'no-store',
    ]);
    expect(answer.cookies).toEqual([]);
  });

  it.each([
    'client_id=x',
    'redirect_uri=https%3A%2F%2Fevil',
    'state=b',
    'code_challenge=x',
    'unknown=1&unknown=2',
  ])(
    'answers 400 to a parameter given twice, whichever comes first: %s (security case RED-5)',
    async (extra) => {
      const gateway = open();
      const base = `${query.slice(1)}&code_challenge=y`;
      for (const text of [`?${base}&${extra}`, `?${extra}&${base}`]) {
        const answer = await get(gateway, text);
        expect([answer.statusCode, answer.json()]).toMatchObject([
          400,
          { isSuccess: false, error: 'invalid_request' },
        ]);
        expect(answer.headers.location).toBeUndefined();
      }
      expect(gateway.requests('begin')).toEqual([]);
    },
  );

  it('reads the parameters of a POST from the body only', async () => {
    const answer = await open().app.inject({
      method: 'POST',
      url: `/authorize${query}`,
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      payload: 'redirect_uri=https%3A%2F%2Fevil',
    });
    expect([answer.statusCode, answer.headers.location]).toEqual([
      303,
      '/authorize?redirect_uri=https%3A%2F%2Fevil',
    ]);
  });

  it.each([
    '?a=%',
    '?a=%ff',
    `?${'a&'.repeat(100)}`,
    `?${Array.from({ length: 65 }, (_, i) => `p${i}=1`).join('&')}`,
  ])('answers 400 to the query %.40j', async (text) => {
    expect((await get(open(), text)).statusCode).toBe(400);
  });

  it.each([
    'Missing required OAuth parameters.',
    'Only response_type=code is supported.',
    'Missing PKCE parameters.',
    'The authorization context is invalid or has expired.',
  ])(
    'answers 400 with the message %j as JSON, and as a page in plain words to a browser',
    async (message) => {
      const gateway = open(() => {
        throw new OAuthError('invalid_request', message);
      });
      const json = await get(gateway, query);
      expect([json.statusCode, json.json()]).toEqual([
        400,
        { isSuccess: false, error: 'invalid_request', message },
      ]);
      const page = await get(gateway, query, html);
      expect([page.statusCode, page.headers['content-type']]).toEqual([400, 'text/html; charset=utf-8']);
      const isOver = message.startsWith('The authorization context');
      expect(page.body).toContain(
        `<p role="alert">${isOver ? 'This sign-in has expired. Start again.' : 'The application sent a sign-in request'}`,
      );
      expect(page.body.includes(message), 'the developer reads it too').toBe(!isOver);
      expect(page.headers.location).toBeUndefined();
    },
  );

  it('answers 503 with Retry-After instead of a redirect if a service is unavailable', async () => {
    const gateway = open(() => {
      throw temporarilyUnavailable();
    });
    const answer = await get(gateway, query, html);
    expect([answer.statusCode, answer.headers['retry-after'], answer.headers.location]).toEqual([
      503,
      '1',
      undefined,
    ]);
  });

  it('answers 400 for a host that is not allowed', async () => {
    const gateway = open();
    expect((await get(gateway, query, { host: 'evil.example' })).statusCode).toBe(400);
    expect(gateway.requests('begin')).toEqual([]);
  });

  it('limits requests per address', async () => {
    const gateway = open(toLogin, { TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '1' });
    await get(gateway, query);
    const limited = await get(gateway, query, { 'x-forwarded-for': '203.0.113.9' });
    expect([limited.statusCode, limited.json()]).toMatchObject([429, { error: 'rate_limited' }]);
    expect(Number(limited.headers['retry-after'])).toBeGreaterThan(0);
  });
});

describe('a session of another tenant (security case TEN-6)', () => {
  const mismatch: NonNullable<Behaviours['begin']> = () => ({
    next: { next: { case: 'tenantMismatch', value: { interaction } } },
  });
  const openMismatch = () =>
    openGateway(testRuntime(), {
      begin: mismatch,
      endSession: () => ({ location: '', sessionEnded: true }),
    });

  it('gets 400 as JSON', async () => {
    const answer = await get(openMismatch(), query);
    expect([answer.statusCode, answer.json()]).toMatchObject([
      400,
      { isSuccess: false, error: 'invalid_request' },
    ]);
  });

  it('gets a page with 400 that offers to sign out and continue the same request', async () => {
    const gateway = openMismatch();
    const page = await get(gateway, query, { ...html, cookie: 'tessera_session=ts_x' });
    expect([page.statusCode, page.headers.location]).toEqual([400, undefined]);
    expect(page.body).toContain('Acme Web');
    const field = (name: string) =>
      new RegExp(`name="${name}" value="([^"]*)"`).exec(page.body)?.[1]?.replaceAll('&amp;', '&') ?? '';
    expect(field('continue')).toBe(query.slice(1));
    const browser = page.cookies[0]?.value ?? '';
    const answer = await gateway.app.inject({
      method: 'POST',
      url: '/logout',
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        cookie: `tessera_browser=${browser}; tessera_session=ts_x`,
      },
      payload: new URLSearchParams({ csrf: field('csrf'), continue: field('continue') }).toString(),
    });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, `/authorize${query}`]);
    expect(gateway.requests('endSession')[0]?.browser?.sessionToken).toBe('ts_x');
  });
});
