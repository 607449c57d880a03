import { describe, expect, it } from 'vitest';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { openGateway, passwordStep, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';
import { carriedRequest } from './carried-request.ts';

const interaction = {
  interactionId: 'ti_abc',
  tenantId: 'acme',
  tenantName: 'Acme',
  clientId: 'web',
  applicationName: 'Acme Web',
  loginHint: '',
  scopes: ['openid'],
};
const browserId = `tb_${'a'.repeat(43)}`;
const cookie = `tessera_browser=${browserId}`;
const csrf = antiForgery.token(browserId, purpose.signIn('ti_abc'));
const knownToken = `tk_${'k'.repeat(43)}`;
const html = { accept: 'text/html' };
const form = { 'content-type': 'application/x-www-form-urlencoded' };
const location = 'https://app/cb?code=tc_1';

const signedIn: NonNullable<Behaviours['continue']> = () => ({
  next: { next: { case: 'redirect', value: { location } } },
  session: { sessionToken: 'ts_new', maxAge: 43_200 },
});
const refused = (problem: string) => () => passwordStep(interaction, problem);
const open = (behaviours: Behaviours = {}, environment: Record<string, string> = {}) =>
  openGateway(
    testRuntime(),
    {
      getInteraction: () => ({ step: { name: 'password', interaction } }),
      continue: signedIn,
      ...behaviours,
    },
    environment,
  );
type Gateway = ReturnType<typeof open>;

const show = (gateway: Gateway, headers: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'GET',
    url: '/login?interaction=ti_abc',
    headers: { ...html, cookie, ...headers },
  });

const fields = { interaction: 'ti_abc', csrf, identifier: 'ada', password: 'engine' };
const send = (
  gateway: Gateway,
  values: Record<string, string> = fields,
  headers: Record<string, string> = {},
) =>
  gateway.app.inject({
    method: 'POST',
    url: '/login',
    headers: { ...html, ...form, cookie, ...headers },
    payload: new URLSearchParams(values).toString(),
  });

describe('GET /login', () => {
  it('shows the form of the pending sign-in', async () => {
    const gateway = open();
    const { statusCode, body } = await show(gateway);
    expect(statusCode).toBe(200);
    for (const text of [
      'Acme Web',
      'name="identifier"',
      'name="password"',
      'type="password"',
      `value="${csrf}"`,
    ]) {
      expect(body).toContain(text);
    }
    expect(gateway.requests('getInteraction')[0]).toMatchObject({
      interactionId: 'ti_abc',
      browser: { browserId },
    });
  });

  it('lets the page of recovery codes run its own script, and no other one', async () => {
    const step = { name: 'recovery_codes', interaction, shown: { codes: 'abcd-efgh ijkl-mnop' } };
    const { body, headers } = await show(open({ getInteraction: () => ({ step }) }));
    expect(body).toContain('<script src="/assets/recovery-codes.js?v=');
    expect(headers['content-security-policy']).toContain("; script-src 'self'; connect-src 'self'");
    const code = { name: 'totp', interaction, shown: {} };
    const without = await show(open({ getInteraction: () => ({ step: code }) }));
    expect(without.headers['content-security-policy']).not.toContain('script-src');
  });

  it('redirects to the client if the request is no longer allowed (RFC 6749 §4.1.2.1)', async () => {
    const refusal = 'https://app/cb?error=unauthorized_client';
    const gateway = open({
      getInteraction: () => ({ redirect: { location: refusal } }),
      continue: () => ({ next: { next: { case: 'redirect', value: { location: refusal } } } }),
    });
    for (const answer of [
      await show(gateway),
      await send(gateway),
      await send(gateway, { ...fields, password: '' }),
    ]) {
      expect([answer.statusCode, answer.headers.location]).toEqual([302, refusal]);
      expect(answer.headers['set-cookie']).toBeUndefined();
    }
  });

  it('fills in the login hint, encoded', async () => {
    const shown = { identifier: '"><script>alert(1)</script>' };
    const { body } = await show(
      open({ getInteraction: () => ({ step: { name: 'password', interaction, shown } }) }),
    );
    expect(body).toContain('value="&quot;&gt;&lt;script&gt;');
    expect(body).not.toContain('<script>');
  });

  it('reports no sign-in request if the interaction is unknown, expired or of another browser', async () => {
    const gateway = open({
      getInteraction: () => {
        throw new OAuthError('invalid_request', 'The authorization context is invalid or has expired.');
      },
    });
    const answer = await show(gateway);
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('This sign-in has expired');
    expect(answer.body).toContain('Open the application you want to use and start from there.');
    expect(answer.body).toContain('href="/account"');
    expect(answer.body).not.toContain('type="password"');
  });

  it('reports no sign-in request, without a password field, if there is none', async () => {
    for (const url of ['/login', '/login?interaction=', '/login?return_to=//evil']) {
      const answer = await open().app.inject({ method: 'GET', url, headers: html });
      expect(answer.statusCode).toBe(200);
      expect(answer.body).toContain('There is no sign-in request');
      expect(answer.body).not.toContain('password');
    }
    const json = await open().app.inject({ method: 'GET', url: '/login' });
    expect(json.json()).toEqual({
      isSuccess: true,
      data: { message: 'There is no sign-in request to continue.' },
    });
  });
});

describe('a sign-in that has expired, was completed, or is of another browser', () => {
  const query = 'client_id=web&state=a%22%3E&scope=openid';
  const again = Buffer.from(query).toString('base64url');
  const over = () => {
    throw new OAuthError('invalid_request', 'The authorization context is invalid or has expired.');
  };
  const application = { clientId: 'web', tenantId: 'acme', name: 'Acme <Web>' };
  const known = { getApplication: () => ({ application, tenant: { tenantId: 'acme', name: 'Acme' } }) };
  const gone = (more: Behaviours = known) => open({ getInteraction: over, continue: over, ...more });
  const opened = (gateway: Gateway, text = again) =>
    gateway.app.inject({ method: 'GET', url: `/login?interaction=ti_abc&again=${text}`, headers: html });
  const start = 'href="/authorize?client_id=web&amp;state=a%22%3E&amp;scope=openid"';

  it('carries its request with every form', async () => {
    const { body } = await opened(open());
    expect(body).toContain(`name="again" value="${again}"`);
    const refusedForm = await send(open({ continue: refused('wrong_credentials') }), { ...fields, again });
    expect(refusedForm.body).toContain(`name="again" value="${again}"`);
  });

  it('is begun anew from its page and from its form, with the name of the application', async () => {
    const byAddress = await opened(gone());
    expect(byAddress.statusCode).toBe(200);
    const byForm = await send(gone(), { ...fields, again });
    expect(byForm.statusCode).toBe(400);
    const foreign = await send(gone(), { ...fields, csrf: 'x', again });
    expect(foreign.statusCode).toBe(400);
    for (const { body } of [byAddress, byForm, foreign]) {
      expect(body).toContain('This sign-in has expired');
      expect(body).toContain(start);
      expect(body).toContain('Continue to Acme &lt;Web&gt;');
      expect(body).toContain('href="/account?tenant=acme"');
    }
  });

  describe('of a person who is signed in', () => {
    const session = {
      userId: 'u1',
      username: 'ada',
      name: 'Ada',
      tenantId: 'acme',
      authentication: { time: 1 },
    };
    const cookies = { ...html, cookie: `${cookie}; tessera_session=ts_${'s'.repeat(43)}` };
    const shown = async (text: string, tenantId = 'acme') => {
      const redirectUris = ['https://app.example/cb', 'http://127.0.0.1/cb'];
      const registered = { ...application, redirectUris, anyLoopbackPort: true };
      const gateway = gone({
        getSession: () => ({ session: { ...session, tenantId } }),
        getApplication: () => ({ application: registered, tenant: { tenantId: 'acme', name: 'Acme' } }),
      });
      const url = `/login?interaction=ti_abc&again=${Buffer.from(text).toString('base64url')}`;
      return (await gateway.app.inject({ method: 'GET', url, headers: cookies })).body;
    };
    const request = (redirectUri: string) => `${query}&redirect_uri=${encodeURIComponent(redirectUri)}`;

    it('is not called expired, and leads to the application instead of repeating its request', async () => {
      const body = await shown(request('https://app.example/cb'));
      expect(body).toContain('<h1>You are already signed in</h1>');
      expect(body).toContain('<a class="button" href="https://app.example/">Open Acme &lt;Web&gt;</a>');
      expect(body).toContain('href="/account?tenant=acme"');
      expect(body).not.toMatch(/expired<|\/authorize/);
    });

    it.each(['https://evil.example/cb', 'http://127.0.0.1/cb', 'com.acme:/cb', ''])(
      'leads to the account where the redirect URI %j tells no address to open',
      async (redirectUri) => {
        const body = await shown(request(redirectUri));
        expect(body).toContain('Open the application you want to use and start from there.');
        expect(body).not.toContain('class="button"');
      },
    );

    it('is begun anew at another organization', async () => {
      const body = await shown(request('https://app.example/cb'), 'globex');
      expect(body).toContain('This sign-in has expired');
      expect(body).toContain('/authorize?client_id=web');
    });
  });

  it('leads to the application, with the looks of its organization, if its request is too long for an address', async () => {
    const long = `client_id=web&redirect_uri=https%3A%2F%2Fapp.example%2Fcb&state=${'s'.repeat(8192)}`;
    const text = carriedRequest(long) ?? '';
    expect(text.length).toBeLessThan(2000);
    const redirectUris = ['https://app.example/cb'];
    const { body } = await opened(
      gone({
        getApplication: () => ({
          application: { ...application, redirectUris },
          tenant: { tenantId: 'acme', name: 'Acme' },
        }),
      }),
      text,
    );
    expect(body).toContain('This sign-in has expired');
    expect(body).toContain('<a class="button" href="https://app.example/">Open Acme &lt;Web&gt;</a>');
    expect(body).toContain('data-tenant="acme"');
    expect(body).not.toContain('/authorize');
  });

  it('is begun anew without a name while the application cannot be read, or is of another issuer', async () => {
    const unavailable = () => {
      throw temporarilyUnavailable('the directory is unavailable');
    };
    const { body } = await opened(gone({ getApplication: unavailable }));
    expect(body).toContain(start);
    expect(body).toContain('Start again');
  });

  it.each([
    ['//evil.example', 'leads elsewhere'],
    [Buffer.from('a=b#c').toString('base64url'), 'has a fragment'],
    [Buffer.from('a=b\r\nlocation: x').toString('base64url'), 'is no query'],
    ['x'.repeat(2001), 'is too long'],
  ])('is not begun anew by %j, which %s', async (text) => {
    const { body } = await opened(gone(), encodeURIComponent(text));
    expect(body).not.toContain('/authorize');
    expect(body).toContain('href="/account"');
  });
});

describe('POST /login', () => {
  it('says how to go on where the sign-in is gone, as after a failover of Redis', async () => {
    const message = 'The authorization context is invalid or has expired.';
    const gateway = open({
      continue: () => {
        throw new OAuthError('invalid_request', message);
      },
    });
    const answer = await send(gateway);
    expect(answer.statusCode).toBe(400);
    for (const text of [
      'This sign-in has expired',
      'It was completed already, or has waited too long.',
      'Open the application you want to use and start from there.',
    ]) {
      expect(answer.body).toContain(text);
    }
    const { accept: _html, ...others } = html;
    const json = await gateway.app.inject({
      method: 'POST',
      url: '/login',
      headers: { ...others, ...form, cookie },
      payload: new URLSearchParams(fields).toString(),
    });
    expect(json.json()).toEqual({ isSuccess: false, error: 'invalid_request', message });
  });

  it('sets the session cookie after a sign-in and redirects with 302, never 307 (RFC 9700 §4.12)', async () => {
    const gateway = open();
    const answer = await send(gateway);
    expect([answer.statusCode, answer.headers.location]).toEqual([302, location]);
    expect(answer.cookies).toEqual([
      {
        name: 'tessera_session',
        value: 'ts_new',
        path: '/',
        httpOnly: true,
        sameSite: 'Lax',
        maxAge: 43_200,
      },
    ]);
    expect(gateway.requests('continue')[0]).toMatchObject({
      visit: { case: 'interactionId', value: 'ti_abc' },
      step: 'password',
      fields: { identifier: 'ada', password: 'engine' },
      browser: { browserId, knownBrowserToken: '' },
    });
  });

  it('gives the browser a cookie that makes it known beyond the session, and sends its value with the next sign-in', async () => {
    const knownBrowser = { token: knownToken, maxAge: 15_552_000 };
    const session = { sessionToken: 'ts_new', maxAge: 43_200, knownBrowser };
    const gateway = open(
      { continue: () => ({ next: { next: { case: 'redirect', value: { location } } }, session }) },
      { TESSERA_ISSUER: 'https://id.example.com' },
    );
    const given = `__Host-${cookie}; __Host-tessera_known_browser=`;
    const answer = await send(gateway, fields, { cookie: given + knownToken });
    expect(answer.cookies.at(-1)).toEqual({
      name: '__Host-tessera_known_browser',
      value: knownToken,
      path: '/',
      httpOnly: true,
      secure: true,
      sameSite: 'Lax',
      maxAge: 15_552_000,
    });
    await send(gateway, fields, { cookie: `${given}tk_${'x'.repeat(5000)}` });
    expect(gateway.requests('continue').map(({ browser }) => browser?.knownBrowserToken)).toEqual([
      knownToken,
      '',
    ]);
  });

  it('shows the form again with 401 and the same accessible error for every failed attempt', async () => {
    const gateway = open({
      continue: refused('wrong_credentials'),
    });
    const answer = await send(gateway, { ...fields, identifier: '<b>ada' });
    expect([answer.statusCode, answer.cookies]).toEqual([401, []]);
    expect(answer.body).toContain('role="alert"');
    expect(answer.body).toContain('Wrong user name or password.');
    expect(answer.body).toContain('value="&lt;b&gt;ada"');
    expect(answer.body).not.toContain('engine');
    const json = await send(gateway, fields, { accept: 'application/json' });
    expect(json.json()).toEqual({
      isSuccess: false,
      error: 'access_denied',
      message: 'Wrong user name or password.',
    });
  });

  it('shows the form again with 400 if a field is empty, and sends only the fields of the step', async () => {
    const gateway = open({ continue: refused('incomplete') });
    const answer = await send(gateway, { ...fields, password: '', other: 'x' });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('Enter both');
    expect(answer.body).toContain('value="ada"');
    const nothing = { interaction: 'ti_abc', csrf };
    expect((await send(gateway, nothing)).statusCode).toBe(400);
    expect(gateway.requests('continue').map((request) => request.fields)).toEqual([
      { identifier: 'ada', password: '', passkeys: '' },
      { identifier: '', password: '', passkeys: '' },
    ]);
  });

  it('shows the step that is due instead of the one that was sent, and says of an unknown one that it cannot', async () => {
    const due =
      (name: string): NonNullable<Behaviours['continue']> =>
      () => ({
        next: { next: { case: 'step', value: { name, interaction } } },
      });
    const { statusCode, body } = await send(open({ continue: due('password') }));
    expect([statusCode, body.includes('name="password"')]).toEqual([200, true]);
    expect(body).not.toContain('value="ada"');
    const unknown = await send(open({ continue: due('of-tomorrow') }));
    expect([unknown.statusCode, unknown.headers['retry-after'], unknown.cookies]).toEqual([503, '1', []]);
  });

  it('reports the replaced session of another person to the token service before it sets the new one (SES-7)', async () => {
    const ended = { tenantId: 'acme', sessionId: 's1', earlierSessionIds: ['s0'] };
    const session = { sessionToken: 'ts_new', maxAge: 43_200, ended };
    const switched: Behaviours = {
      continue: () => ({ next: { next: { case: 'redirect', value: { location } } }, session }),
    };
    const gateway = open({ ...switched, noteSessionEnd: () => ({}) });
    expect((await send(gateway)).cookies).toMatchObject([{ name: 'tessera_session', value: 'ts_new' }]);
    const expected = ['s1', 's0'].map((sessionId) => ({ tenantId: 'acme', sessionId }));
    expect(gateway.requests('noteSessionEnd')).toMatchObject(expected);
    const unheard = open({
      ...switched,
      noteSessionEnd: () => {
        throw temporarilyUnavailable();
      },
    });
    const refused = await send(unheard);
    expect([refused.statusCode, refused.cookies]).toEqual([503, []]);
  });

  it('answers the 400 of the contract if a session of another tenant has appeared since', async () => {
    const gateway = open({
      continue: () => ({ next: { next: { case: 'tenantMismatch', value: { interaction } } } }),
    });
    const answer = await send(gateway);
    expect([answer.statusCode, answer.cookies]).toEqual([400, []]);
    expect(answer.body).toContain('name="interaction" value="ti_abc"');
  });

  it.each([
    ['no anti-forgery field', { ...fields, csrf: '' }, {}],
    [
      'a field of another interaction',
      { ...fields, csrf: antiForgery.token(browserId, purpose.signIn('ti_x')) },
      {},
    ],
    ['a field of another browser', { ...fields, csrf: antiForgery.token(`tb_${'b'.repeat(43)}`, 'x') }, {}],
    ['no cookie (login CSRF, security case CSRF-4)', fields, { cookie: '' }],
    ['a foreign origin', fields, { origin: 'https://evil.example' }],
    ['a cross-site request', fields, { 'sec-fetch-site': 'cross-site' }],
  ])(
    'refuses a form with %s and tries no password (security case CSRF-2)',
    async (_what, values, headers) => {
      const gateway = open();
      const answer = await send(gateway, values, headers);
      expect([answer.statusCode, answer.cookies, answer.headers.location]).toEqual([400, [], undefined]);
      expect(gateway.requests('continue')).toEqual([]);
    },
  );

  it.each(['text/plain', 'application/json', 'multipart/form-data; boundary=x'])(
    'answers 415 to the content type %s',
    async (type) => {
      const gateway = open();
      expect((await send(gateway, fields, { 'content-type': type })).statusCode).toBe(415);
      expect(gateway.requests('continue')).toEqual([]);
    },
  );

  it.each(['garbage', '', ',', '::1%eth0', Array(100).fill('127.0.0.1').join()])(
    'still needs the password whatever X-Forwarded-For says: %.20j (security case XFF-1)',
    async (forwarded) => {
      const gateway = open(
        { continue: refused('wrong_credentials') },
        { TESSERA_TRUSTED_PROXIES: '127.0.0.1' },
      );
      const answer = await send(gateway, fields, { 'x-forwarded-for': forwarded });
      expect([answer.statusCode, answer.cookies]).toEqual([401, []]);
    },
  );

  it('shows a page with Retry-After after too many attempts', async () => {
    const gateway = open({
      continue: () => {
        throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', {
          retryAfterSeconds: 60,
        });
      },
    });
    const answer = await send(gateway);
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '60']);
    expect(answer.body).toContain('Too many attempts. Try again in a minute.');
  });

  it.each([
    ['en', 'Too many attempts. Try again in 14 minutes.'],
    ['de', 'Zu viele Versuche. Versuchen Sie es in 14 Minuten noch einmal.'],
    ['ar', 'محاولات كثيرة جدًا. حاول مرة أخرى بعد 14 دقيقة.'],
  ])(
    'keeps the form after too many attempts, says for how long, and offers the other ways, in %s',
    async (language, said) => {
      const shown = { recovers: 'yes' };
      const gateway = open({
        getInteraction: () => ({ step: { name: 'password', interaction, shown } }),
        continue: () => {
          throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', {
            retryAfterSeconds: 800,
          });
        },
      });
      const answer = await send(gateway, fields, { 'accept-language': language });
      expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '800']);
      expect(answer.body).toContain(said);
      expect(answer.body).toContain('value="ada"');
      expect(answer.body).not.toContain('engine');
      expect(answer.body).toContain('/password/forgot?tenant=acme');
      const json = await send(gateway, fields, { accept: 'application/json' });
      expect(json.json()).toMatchObject({ message: 'Too many attempts. Try again later.' });
    },
  );

  it('posts the response to the client if it asked for that (OAuth 2.0 Form Post Response Mode §2)', async () => {
    const formPost = { uri: 'https://app/cb', parameters: { code: 'tc_1' } };
    const session = { sessionToken: 'ts_new', maxAge: 43_200 };
    const redirect = { location, formPost };
    const gateway = open({
      continue: () => ({ next: { next: { case: 'redirect', value: redirect } }, session }),
    });
    const answer = await send(gateway);
    expect([answer.statusCode, answer.headers['cache-control']]).toEqual([200, 'no-store']);
    expect(answer.body).toContain('<form method="post" action="https://app/cb">');
    expect(answer.cookies).toMatchObject([{ name: 'tessera_session', value: 'ts_new' }]);
  });

  it('redirects only where the authorize service says, whatever the form contains (security cases XSS-5 and XSS-6)', async () => {
    const targets = ['//evil', '/\\evil', '/%09/evil', '/%5cevil', 'https:evil', '\t//evil', '/a@evil'];
    for (const target of targets) {
      for (const name of ['return_to', 'continue', 'redirect_uri', 'next']) {
        const answer = await send(open(), { ...fields, [name]: target });
        expect(answer.headers.location).toBe(location);
      }
    }
  });
});
