import { describe, expect, it } from 'vitest';
import { temporarilyUnavailable } from '@tessera/oauth';
import { testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { openGateway, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const html = { accept: 'text/html' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const toClient = 'https://app/bye?logged_out=1';
const session = {
  sessionId: 's1',
  tenantId: 'acme',
  userId: 'u1',
  username: 'ada',
  name: 'Ada',
  authentication: { time: 1 },
};
const good = { valid: true, clientId: 'web', sub: 'u1', sessionId: 's1' };

const open = (behaviours: Behaviours = {}, environment: Record<string, string> = {}) =>
  openGateway(
    testRuntime(),
    {
      endSession: () => ({ location: toClient, sessionEnded: true }),
      getSession: () => ({ session }),
      verifyIdTokenHint: () => good,
      ...behaviours,
    },
    environment,
  );
type Gateway = ReturnType<typeof open>;

const cookies = `tessera_browser=${browserId}; tessera_session=ts_x`;
const get = (gateway: Gateway, query = '', headers: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'GET',
    url: `/logout${query}`,
    headers: { ...html, cookie: cookies, ...headers },
  });
const post = (gateway: Gateway, values: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'POST',
    url: '/logout',
    headers: { ...html, ...form, cookie: cookies, ...headers },
    payload: new URLSearchParams(values).toString(),
  });

describe('GET /logout', () => {
  it('ends the session, deletes its cookie and answers 302', async () => {
    const gateway = open();
    const answer = await get(
      gateway,
      '?client_id=web&post_logout_redirect_uri=https%3A%2F%2Fapp%2Fbye&state=x',
    );
    expect([answer.statusCode, answer.headers.location, answer.headers['cache-control']]).toEqual([
      302,
      toClient,
      'no-store',
    ]);
    expect(answer.cookies).toMatchObject([{ name: 'tessera_session', value: '', maxAge: 0, path: '/' }]);
    expect(gateway.requests('endSession')[0]).toMatchObject({
      browser: { browserId, sessionToken: 'ts_x' },
      clientId: 'web',
      postLogoutRedirectUri: 'https://app/bye',
      state: 'x',
      hintedClientId: '',
      refuseFallback: false,
    });
  });

  it('redirects to /login without another target, where the page confirms the sign-out once', async () => {
    const gateway = open({ endSession: () => ({ location: '', sessionEnded: true }) });
    const answer = await get(gateway, '?client_id=nobody');
    expect([answer.statusCode, answer.headers.location]).toEqual([302, '/login']);
    const flash = answer.cookies.find(({ name }) => name === 'tessera_signed_out');
    expect(flash).toMatchObject({ maxAge: 60, httpOnly: true });
    const cookie = `tessera_signed_out=${flash?.value}`;
    const page = await gateway.app.inject({ method: 'GET', url: '/login', headers: { ...html, cookie } });
    expect([page.statusCode, page.cookies]).toMatchObject([
      200,
      [{ name: 'tessera_signed_out', value: '', maxAge: 0 }],
    ]);
    expect(page.body).toContain('You are signed out.');
    expect(page.body).not.toContain('password');
  });

  it('answers 302 to every caller, with or without a session', async () => {
    for (const headers of [{ cookie: '' }, { accept: '*/*' }, { 'sec-fetch-site': 'cross-site' }]) {
      expect((await get(open(), '', headers)).statusCode).toBe(302);
    }
  });

  it('forwards the claims of a valid hint, and nothing of an invalid one or of another client', async () => {
    const hinted = async (query: string, answer = good) => {
      const gateway = open({ verifyIdTokenHint: () => answer });
      await get(gateway, query);
      return gateway.requests('endSession')[0]?.hintedClientId;
    };
    expect(await hinted('?id_token_hint=x')).toBe('web');
    expect(await hinted('?id_token_hint=x&client_id=web')).toBe('web');
    expect(await hinted('?id_token_hint=x&client_id=other')).toBe('');
    expect(await hinted('?id_token_hint=x', { ...good, valid: false })).toBe('');
  });

  it('answers 503 and keeps the cookie if the session could not be ended', async () => {
    const gateway = open({
      endSession: () => {
        throw temporarilyUnavailable();
      },
    });
    const answer = await get(gateway);
    expect([answer.statusCode, answer.headers.location, answer.cookies]).toEqual([503, undefined, []]);
  });

  it('reports the ended session to the token service before it confirms the logout (SES-7)', async () => {
    const over = { tenantId: 'acme', sessionId: 's1' };
    const ended = { endSession: () => ({ location: toClient, sessionEnded: true, ...over }) };
    const gateway = open(ended);
    expect((await get(gateway)).statusCode).toBe(302);
    expect(gateway.requests('noteSessionEnd')).toMatchObject([over]);
    const again = { endSession: () => ({ ...ended.endSession(), earlierSessionIds: ['s0', 's-1'] }) };
    const several = open(again);
    expect((await get(several)).statusCode).toBe(302);
    const expected = ['s1', 's0', 's-1'].map((sessionId) => ({ tenantId: 'acme', sessionId }));
    expect(several.requests('noteSessionEnd')).toMatchObject(expected);
    const oneUnheard = open({
      ...again,
      noteSessionEnd: ({ sessionId }) => {
        if (sessionId === 's-1') throw temporarilyUnavailable();
        return {};
      },
    });
    expect((await get(oneUnheard)).statusCode).toBe(503);
    const unheard = open({
      ...ended,
      noteSessionEnd: () => {
        throw temporarilyUnavailable();
      },
    });
    const answer = await get(unheard);
    expect([answer.statusCode, answer.headers.location, answer.cookies]).toEqual([503, undefined, []]);
  });

  it('answers 400 to a repeated parameter', async () => {
    const gateway = open();
    expect((await get(gateway, '?client_id=a&client_id=b')).statusCode).toBe(400);
    expect(gateway.requests('endSession')).toEqual([]);
  });
});

describe('GET /logout in the strict profile', () => {
  const strict = { TESSERA_PROFILE: 'strict', TESSERA_ISSUER: 'http://localhost' };
  const crossSite = { 'sec-fetch-site': 'cross-site' };

  it.each([
    ['from another site', '', crossSite],
    ['from a sibling site', '', { 'sec-fetch-site': 'same-site' }],
    ['from somewhere unknown', '', {}],
  ])(
    'asks the person first when the request comes %s without a hint (security case CSRF-1)',
    async (_w, query, headers) => {
      const gateway = open({}, strict);
      const answer = await get(gateway, query, headers);
      expect([answer.statusCode, answer.headers.location, answer.cookies]).toEqual([200, undefined, []]);
      expect(answer.body).toContain('action="/logout"');
      expect(gateway.requests('endSession')).toEqual([]);
    },
  );

  it('ends the session at once for the person itself and for a client with a hint of this session', async () => {
    for (const [query, site] of [
      ['', 'none'],
      ['', 'same-origin'],
      ['?id_token_hint=x', 'cross-site'],
    ] as const) {
      const gateway = open({}, strict);
      expect((await get(gateway, query, { 'sec-fetch-site': site })).statusCode).toBe(302);
      expect(gateway.requests('endSession')[0]?.refuseFallback).toBe(true);
    }
  });

  it('refuses an unregistered URI with a page that offers to sign out, and keeps the session (OIDC RP-Initiated Logout §3)', async () => {
    const endSession = () => ({ redirectUriRefused: true });
    const gateway = open({ endSession }, strict);
    const query = '?client_id=web&id_token_hint=x&post_logout_redirect_uri=https%3A%2F%2Fevil%2F';
    const answer = await get(gateway, query, crossSite);
    expect([answer.statusCode, answer.headers.location, answer.cookies]).toEqual([400, undefined, []]);
    expect(answer.body).toContain(
      'The application wants to send you to an address that it has not registered.',
    );
    expect(answer.body).toContain('action="/logout"');
    expect(answer.body).not.toContain('evil');
    expect(gateway.requests('endSession')[0]?.refuseUnregistered).toBe(true);
    const json = await get(gateway, query, { ...crossSite, accept: 'application/json' });
    expect(json.json()).toMatchObject({ isSuccess: false, error: 'invalid_request' });
  });

  it('ends the session when the person confirms, whatever URI was requested', async () => {
    const gateway = open({ endSession: () => ({ location: '', sessionEnded: true }) }, strict);
    const csrf = antiForgery.token(browserId, purpose.signOut);
    const answer = await post(gateway, { csrf, post_logout_redirect_uri: 'https://evil/' });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/login']);
    expect(gateway.requests('endSession')[0]?.refuseUnregistered).toBe(false);
  });

  it('asks for confirmation if the hint belongs to another person', async () => {
    const verifyIdTokenHint = () => ({ ...good, sub: 'mallory', sessionId: 's2' });
    const answer = await get(open({ verifyIdTokenHint }, strict), '?id_token_hint=x', crossSite);
    expect(answer.statusCode).toBe(200);
  });

  it('asks for no confirmation without a session', async () => {
    expect((await get(open({}, strict), '', { ...crossSite, cookie: '' })).statusCode).toBe(302);
  });

  it('keeps the parameters in the confirmation form', async () => {
    const answer = await get(open({}, strict), '?client_id=web&state=%22%3E%3Cb%3E', crossSite);
    expect(answer.body).toContain('name="client_id" value="web"');
    expect(answer.body).toContain('value="&quot;&gt;&lt;b&gt;"');
  });

  it('carries no parameters that would make a large page, and keeps the session', async () => {
    for (const name of ['client_id', 'post_logout_redirect_uri', 'state']) {
      const gateway = open({}, strict);
      expect((await get(gateway, `?${name}=${"'".repeat(4_096)}`, crossSite)).statusCode).toBe(200);
      const answer = await get(gateway, `?${name}=${"'".repeat(4_097)}`, crossSite);
      expect([answer.statusCode, answer.cookies]).toEqual([400, []]);
      expect(answer.body.length).toBeLessThan(8_000);
      expect(gateway.requests('endSession')).toEqual([]);
    }
  });
});

describe('POST /logout', () => {
  const csrf = antiForgery.token(browserId, purpose.signOut);

  it('ends the session and answers 303 as GET would answer', async () => {
    const gateway = open();
    const answer = await post(gateway, { csrf, client_id: 'web' });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, toClient]);
    expect(gateway.requests('endSession')[0]).toMatchObject({
      clientId: 'web',
      browser: { sessionToken: 'ts_x' },
    });
  });

  it('continues the interrupted request or sign-in', async () => {
    expect((await post(open(), { csrf, continue: 'a=1&b=%22' })).headers.location).toBe(
      '/authorize?a=1&b=%22',
    );
    expect((await post(open(), { csrf, interaction: 'ti_/?&' })).headers.location).toBe(
      '/login?interaction=ti_%2F%3F%26',
    );
  });

  it('stays on our origin whatever the continuation parameter says (security cases XSS-5 and XSS-6)', async () => {
    const parts = [
      '/',
      '\\',
      '%2f',
      '%5c',
      '%09',
      '@',
      ':',
      '?',
      '#',
      '.',
      'evil',
      'https',
      ';',
      '&',
      '=',
      '%00',
    ];
    const shared = open();
    for (const first of parts) {
      for (const second of parts) {
        for (const value of [`${first}${second}evil`, `//${first}${second}evil`]) {
          for (const name of ['continue', 'interaction']) {
            const answer = await post(shared, { csrf, [name]: value });
            const target = new URL(answer.headers.location ?? '', 'http://localhost/logout');
            expect(target.origin, value).toBe('http://localhost');
          }
        }
      }
    }
    for (const value of ['a\r\nSet-Cookie: x=y', 'a b', 'ä', '\t//evil']) {
      const gateway = open();
      const answer = await post(gateway, { csrf, continue: value });
      expect([answer.statusCode, answer.headers.location, answer.cookies]).toEqual([400, undefined, []]);
      expect(gateway.requests('endSession')).toEqual([]);
    }
  });

  it("sends a relying party's form on as GET and ends nothing itself (OIDC RP-Initiated Logout §2)", async () => {
    const gateway = open();
    const sent = { id_token_hint: 'a.b.c', post_logout_redirect_uri: 'https://app/bye', state: 'a&b' };
    const others = { continue: '//evil', interaction: 'ti_x', ui_locales: 'sv' };
    const from = { origin: 'https://app', 'sec-fetch-site': 'cross-site', cookie: '' };
    const answer = await post(gateway, { ...others, ...sent }, from);
    expect([answer.statusCode, answer.cookies]).toEqual([303, []]);
    const target = new URL(answer.headers.location ?? '', 'http://localhost');
    expect(target.pathname).toBe('/logout');
    expect(Object.fromEntries(target.searchParams)).toEqual({ ...sent, ui_locales: 'sv' });
    expect((await post(gateway, { logged_out: '1' })).headers.location).toBe('/logout');
    expect(gateway.requests('endSession')).toEqual([]);
  });

  it.each([
    ['the field of another form', { csrf: antiForgery.token(browserId, purpose.signIn('ti_x')) }, {}],
    ['no browser cookie', { csrf }, { cookie: 'tessera_session=ts_x' }],
    ['a foreign origin', { csrf }, { origin: 'https://evil.example' }],
    ['a cross-site request', { csrf }, { 'sec-fetch-site': 'cross-site' }],
  ] as const)(
    'refuses a form with %s and ends nothing (security case CSRF-2)',
    async (_what, values, headers) => {
      const gateway = open();
      const answer = await post(gateway, { ...values }, { ...headers });
      expect([answer.statusCode, answer.cookies]).toEqual([400, []]);
      expect(gateway.requests('endSession')).toEqual([]);
    },
  );
});
