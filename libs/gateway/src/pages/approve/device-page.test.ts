import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { Decision } from '@tessera/proto-gen/device';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { antiForgery } from '@tessera/pages';
import { browserId, cookie, now, openForAda, session } from '../../testing/ada-browser.ts';
import { passwordStep, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const userCode = 'WDJB-MJHT';
const pending = {
  requestId: 'r1',
  tenantId: 'acme',
  clientId: 'tv',
  applicationName: 'Acme TV',
  scopes: ['openid', 'orders.read'],
  ipAddress: '203.0.113.7',
  bindingMessage: '',
  expiresAt: 0n,
};
const anonymous = { ...pending, requestId: '', clientId: '', applicationName: '', scopes: [], ipAddress: '' };
const application = {
  scopes: [{ name: 'orders.read', audience: 'https://api', description: 'See orders', resourceName: 'API' }],
};

const open = (behaviours: Behaviours = {}, environment: Record<string, string> = {}) =>
  openForAda(
    {
      getDeviceAuthorization: ({ userId }) => ({ request: userId === '' ? anonymous : pending }),
      getApplication: () => ({ application, tenant: { tenantId: 'acme', name: 'Acme' } }),
      decideDeviceAuthorization: () => ({}),
      ...behaviours,
    },
    environment,
  );
type Gateway = ReturnType<typeof open>;

const html = { accept: 'text/html', cookie };
const proof = antiForgery.token(browserId, purpose.openCode(userCode));
const opened = `/device?user_code=${userCode}&proof=${proof}`;
const get = (gateway: Gateway, url: string, headers: Record<string, string> = {}) =>
  gateway.app.inject({ method: 'GET', url, headers: { ...html, ...headers } });
const post = (gateway: Gateway, values: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'POST',
    url: '/device',
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(values).toString(),
  });
const csrf = (of: string) => antiForgery.token(browserId, of);
const notFound = () => {
  throw new OAuthError('not_found', 'The code is not valid or has expired.');
};

describe('GET /device', () => {
  it('asks for the code and gives the browser its cookie', async () => {
    const answer = await get(open(), '/device', { cookie: '' });
    expect(answer.statusCode).toBe(200);
    expect(answer.body).toContain('name="user_code"');
    expect(answer.cookies).toMatchObject([{ name: 'tessera_browser', httpOnly: true, sameSite: 'Lax' }]);
    const given = answer.cookies[0]?.value ?? '';
    expect(answer.body).toContain(`value="${antiForgery.token(given, purpose.enterCode)}"`);
  });

  it.each([
    ['the complete URI', `/device?user_code=${userCode}`],
    ['a proof of nothing', `/device?user_code=${userCode}&proof=x`],
    [
      'the proof of another code',
      `/device?user_code=${userCode}&proof=${csrf(purpose.openCode('XXXX-XXXX'))}`,
    ],
    [
      "another browser's proof",
      `/device?user_code=${userCode}&proof=${antiForgery.token(`tb_${'b'.repeat(43)}`, purpose.openCode(userCode))}`,
    ],
  ])('only prefills the code of %s, without a look-up (RFC 8628 §3.3.1, DEV-8)', async (_what, url) => {
    const gateway = open();
    const { statusCode, body } = await get(gateway, url);
    expect(statusCode).toBe(200);
    expect(body).toContain(`value="${userCode}"`);
    expect(body).not.toContain('Acme TV');
    expect(gateway.requests('getDeviceAuthorization')).toEqual([]);
  });

  it('does not repeat a code that is too long to be valid', async () => {
    const long = encodeURIComponent('"'.repeat(4_000));
    const answer = await get(open(), `/device?user_code=${long}`, { cookie: '' });
    expect(answer.statusCode).toBe(200);
    expect(answer.body.length).toBeLessThan(8_000);
  });

  it('shows application, code, scopes and address and asks for a decision (DEV-8)', async () => {
    const gateway = open();
    const { statusCode, body } = await get(gateway, opened);
    expect(statusCode).toBe(200);
    for (const text of [
      'Acme TV',
      userCode,
      'See orders',
      'orders.read',
      'know who you are',
      '203.0.113.7',
      'not your own address',
      'value="approve"',
      'value="deny"',
      'Signed in as Ada',
    ]) {
      expect(body).toContain(text);
    }
    expect(gateway.requests('getDeviceAuthorization')).toMatchObject([
      { userCode, sessionId: 's1', tenantId: 'acme', userId: 'u1', ipAddress: '127.0.0.1' },
    ]);
  });

  it('says in one sentence what many scopes of one API are, and lists them below it', async () => {
    const names = Array.from({ length: 6 }, (_, at) => `admin.${at}`);
    const scopes = names.map((name) => ({
      name,
      audience: 'urn:admin',
      description: `See ${name}`,
      resourceName: 'Administration',
    }));
    const asked = ['openid', ...names, 'orders.read'];
    const gateway = open({
      getDeviceAuthorization: () => ({ request: { ...pending, scopes: asked } }),
      getApplication: () => ({
        application: { scopes: [...application.scopes, ...scopes] },
        tenant: { tenantId: 'acme', name: 'Acme' },
      }),
    });
    const { body } = await get(gateway, opened);
    const [, below = ''] = /<details>([^]*?)<\/details>/.exec(body) ?? [];
    expect(below).toContain('<summary>use Administration: 6 permissions</summary>');
    for (const name of names) expect(below).toContain(`See ${name}</bdi> <code>${name}</code>`);
    const outside = body.replace(below, '');
    for (const text of ['know who you are', 'See orders']) expect(outside).toContain(text);
    expect(outside).not.toContain('admin.');
    expect((await get(open(), opened)).body).not.toContain('<details>');
  });

  it('asks for a sign-in to the tenant of the code before it opens the request', async () => {
    const gateway = open({ getSession: () => ({}) });
    const { statusCode, body } = await get(gateway, opened);
    expect(statusCode).toBe(200);
    expect(body).toContain('name="password"');
    expect(body).toContain('<strong>acme</strong>');
    expect(gateway.requests('getDeviceAuthorization')).toMatchObject([{ sessionId: '', userId: '' }]);
  });

  it('asks for the password again when it was given too long ago (DEV-8)', async () => {
    const old = { ...session, authentication: { time: now - 3601 } };
    const gateway = open({ getSession: () => ({ session: old }) });
    const { body } = await get(gateway, opened);
    expect(body).toContain('Confirm that it is you');
    expect(body).toContain('value="ada"');
    expect(gateway.requests('getDeviceAuthorization')).toMatchObject([{ sessionId: '' }]);
    const patient = open({ getSession: () => ({ session: old }) }, { TESSERA_APPROVAL_MAX_AGE: '2h' });
    expect((await get(patient, opened)).body).toContain('value="approve"');
  });

  it('gives the same message for every invalid code, and offers to sign out', async () => {
    for (const behaviours of [
      { getDeviceAuthorization: notFound },
      {
        getSession: () => ({ session: { ...session, tenantId: 'globex', authentication: { time: 0 } } }),
      },
    ]) {
      const { statusCode, body } = await get(open(behaviours), opened);
      expect(statusCode).toBe(400);
      expect(body).toContain('The code is not valid or has expired.');
      expect(body).toContain('Sign out and try again');
    }
  });

  it('answers 429 with Retry-After if codes are being guessed (DEV-7)', async () => {
    const answer = await get(
      open({
        getDeviceAuthorization: () => {
          throw new OAuthError('rate_limited', 'Too many attempts.', { retryAfterSeconds: 60 });
        },
      }),
      opened,
    );
    expect([answer.statusCode, answer.headers['retry-after']]).toEqual([429, '60']);
    expect(answer.body).toContain('Too many attempts.');
  });

  it('shows the result of a decision once', async () => {
    const answer = await get(open(), '/device', { cookie: 'tessera_decided=approved' });
    expect(answer.body).toContain('Device connected');
    expect(answer.cookies).toMatchObject([{ name: 'tessera_decided', value: '', maxAge: 0 }]);
  });
});

describe('a code whose look-up requires a sign-in (DEV-7)', () => {
  const signInFirst = ({ userId }: { userId: string }) => {
    if (userId === '') throw new OAuthError('login_required', 'Sign in before you enter a code.');
    return { request: pending };
  };
  const nobody = { getDeviceAuthorization: signInFirst, getSession: () => ({}) };

  it('asks for the organization, then for the password, if nobody is signed in', async () => {
    const form = await get(open(nobody), opened);
    expect(form.statusCode).toBe(200);
    for (const text of ['name="tenant"', `value="${userCode}"`, `value="${proof}"`, 'action="/device"']) {
      expect(form.body).toContain(text);
    }
    const signIn = await get(open(nobody), `${opened}&tenant=acme`);
    expect(signIn.statusCode).toBe(200);
    for (const text of ['name="password"', '<strong>acme</strong>', 'name="tenant" value="acme"']) {
      expect(signIn.body).toContain(text);
    }
    expect((await get(open(nobody), `${opened}&tenant=A%20b`)).body).toContain(
      'not a valid organization name',
    );
  });

  it('signs in there and continues with the code', async () => {
    const gateway = open(nobody);
    const values = { user_code: userCode, tenant: 'acme', identifier: 'ada', password: 'engine' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.signInTo(userCode)) });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, opened]);
    expect(gateway.requests('continue')).toMatchObject([
      {
        visit: { case: 'page', value: { tenantId: 'acme' } },
        step: 'password',
        fields: { identifier: 'ada' },
      },
    ]);
  });

  it('asks for the organization again, without a password check, if the form names none', async () => {
    const gateway = open(nobody);
    const values = { user_code: userCode, identifier: 'ada', password: 'engine' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.signInTo(userCode)) });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, opened]);
    expect(gateway.requests('continue')).toEqual([]);
  });

  it('asks for the password at the own tenant of the person if the sign-in is too old', async () => {
    const old = { ...session, authentication: { time: now - 3601 } };
    const gateway = open({ getDeviceAuthorization: signInFirst, getSession: () => ({ session: old }) });
    const { body } = await get(gateway, opened);
    expect(body).toContain('Confirm that it is you');
    expect(body).toContain('<strong>acme</strong>');
  });

  it('is looked up if the browser is signed in', async () => {
    const { body } = await get(open({ getDeviceAuthorization: signInFirst }), opened);
    expect(body).toContain('value="approve"');
  });

  it('requires a sign-in to its own tenant once it can be looked up, whatever the form says', async () => {
    const gateway = open({ getSession: () => ({}) });
    const values = { user_code: userCode, tenant: 'globex', identifier: 'ada', password: 'engine' };
    await post(gateway, { ...values, csrf: csrf(purpose.signInTo(userCode)) });
    expect(gateway.requests('continue')).toMatchObject([
      { visit: { case: 'page', value: { tenantId: 'acme' } } },
    ]);
  });
});

describe('POST /device', () => {
  it('continues with a proof bound to this browser', async () => {
    const answer = await post(open(), { user_code: userCode, csrf: csrf(purpose.enterCode) });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, opened]);
  });

  it.each<[string, Record<string, string>, Record<string, string>]>([
    ['no anti-forgery field', {}, {}],
    ['the field of another form', { csrf: csrf(purpose.signOut) }, {}],
    ['a cross-site request', { csrf: csrf(purpose.enterCode) }, { 'sec-fetch-site': 'cross-site' }],
    ["another browser's cookie", { csrf: csrf(purpose.enterCode) }, { cookie: 'tessera_session=ts_x' }],
  ])('accepts no code from a form with %s (RFC 8628 §5.4)', async (_what, field, headers) => {
    const gateway = open();
    const answer = await post(gateway, { user_code: userCode, ...field }, headers);
    expect(answer.statusCode).toBe(400);
    expect(answer.headers.location).toBeUndefined();
    expect(gateway.requests('getDeviceAuthorization')).toEqual([]);
  });

  it('signs in to the tenant of the code and continues', async () => {
    const gateway = open({ getSession: () => ({}) });
    const values = { user_code: userCode, identifier: 'ada', password: 'engine' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.signInTo(userCode)) });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, opened]);
    expect(answer.cookies).toMatchObject([{ name: 'tessera_session', value: 'ts_new', maxAge: 43_200 }]);
    expect(gateway.requests('continue')).toMatchObject([
      {
        visit: { case: 'page', value: { name: OwnPage_Name.DEVICE, tenantId: 'acme' } },
        step: 'password',
        fields: { identifier: 'ada', password: 'engine' },
        browser: { browserId },
      },
    ]);
  });

  it('shows the next step with its visit, which the form of that step continues', async () => {
    const interaction = { interactionId: 'ti_abc', tenantId: 'acme' };
    const gateway = open({ getSession: () => ({}), continue: () => passwordStep(interaction) });
    const values = { user_code: userCode, tenant: 'acme', csrf: csrf(purpose.signInTo(userCode)) };
    const form = { ...values, identifier: 'ada', password: 'engine' };
    const { statusCode, body } = await post(gateway, form);
    expect(statusCode).toBe(200);
    expect(body).toContain('name="interaction" value="ti_abc"');
    await post(gateway, { ...form, interaction: 'ti_abc' });
    expect(gateway.requests('continue')[1]).toMatchObject({
      visit: { case: 'interactionId', value: 'ti_abc' },
    });
  });

  it('makes the browser known beyond the session', async () => {
    const knownBrowser = { token: `tk_${'k'.repeat(43)}`, maxAge: 15_552_000 };
    const gateway = open({
      getSession: () => ({}),
      continue: () => ({
        next: { next: { case: 'done', value: {} } },
        session: { sessionToken: 'ts_new', maxAge: 43_200, knownBrowser },
      }),
    });
    const values = { user_code: userCode, identifier: 'ada', password: 'engine' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.signInTo(userCode)) });
    expect(answer.cookies).toMatchObject([
      { name: 'tessera_session' },
      { name: 'tessera_known_browser', value: knownBrowser.token, maxAge: 15_552_000, httpOnly: true },
    ]);
  });

  it('offers to sign out and continue with the code if the browser is now signed in to another tenant', async () => {
    const gateway = open({ continue: () => ({ next: { next: { case: 'tenantMismatch', value: {} } } }) });
    const values = { user_code: userCode, identifier: 'ada', password: 'engine' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.signInTo(userCode)) });
    expect(answer.statusCode).toBe(400);
    expect(answer.body).toContain('The session in this browser belongs to another organization.');
    expect(answer.body).toContain('action="/logout"');
    expect(answer.body).toContain('name="going" value="device"');
    expect(answer.body).toContain(`name="user_code" value="${userCode}"`);
    expect(answer.cookies).toEqual([]);
  });

  it('shows the form again after wrong credentials, without the password', async () => {
    const gateway = open({ continue: () => passwordStep({}, 'wrong_credentials') });
    const values = { user_code: userCode, identifier: 'ada', password: 'wrong-one' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.signInTo(userCode)) });
    expect(answer.statusCode).toBe(401);
    expect(answer.body).toContain('Wrong user name or password.');
    expect(answer.body).not.toContain('wrong-one');
  });

  it.each([
    ['approve', Decision.APPROVE, 'approved'],
    ['deny', Decision.DENY, 'denied'],
  ])('forwards the decision %s with its session', async (decision, expected, outcome) => {
    const gateway = open();
    const values = { request: 'r1', user_code: userCode, decision };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.decide('r1')) });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/device']);
    expect(answer.cookies).toMatchObject([{ name: 'tessera_decided', value: outcome }]);
    expect(gateway.requests('decideDeviceAuthorization')).toMatchObject([
      {
        requestId: 'r1',
        decision: expected,
        approver: { tenantId: 'acme', userId: 'u1', sessionId: 's1', ipAddress: '127.0.0.1' },
      },
    ]);
  });

  it('says that it is too late if the request has expired', async () => {
    const gateway = open({ decideDeviceAuthorization: notFound });
    const values = { request: 'r1', user_code: userCode, decision: 'approve' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.decide('r1')) });
    expect(answer.cookies).toMatchObject([{ name: 'tessera_decided', value: 'over' }]);
  });

  it('requires a new sign-in for an approval if the current one is no longer valid (DEV-2)', async () => {
    const gateway = open({
      decideDeviceAuthorization: () => {
        throw new OAuthError('login_required', 'Sign in again to approve the request.');
      },
    });
    const values = { request: 'r1', user_code: userCode, decision: 'approve' };
    const answer = await post(gateway, { ...values, csrf: csrf(purpose.decide('r1')) });
    expect(answer.statusCode).toBe(400);
    for (const text of ['Confirm that it is you', 'Sign in again to approve', 'value="ada"']) {
      expect(answer.body).toContain(text);
    }
    expect(answer.body).toContain(`value="${csrf(purpose.signInTo(userCode))}"`);
    expect(answer.cookies).toEqual([]);
  });

  it('decides nothing for an ended or too old session, and asks for a sign-in', async () => {
    for (const answer of [{}, { session: { ...session, authentication: { time: 0 } } }]) {
      const gateway = open({ getSession: () => answer });
      const values = { request: 'r1', user_code: userCode, decision: 'approve' };
      const sent = await post(gateway, { ...values, csrf: csrf(purpose.decide('r1')) });
      expect([sent.statusCode, sent.headers.location]).toEqual([303, opened]);
      expect(gateway.requests('decideDeviceAuthorization')).toEqual([]);
    }
  });

  it.each([
    ['no anti-forgery field', {}, {}],
    ['the field of another request', { csrf: csrf(purpose.decide('r2')) }, {}],
    ['the field of another form', { csrf: csrf(purpose.enterCode) }, {}],
    ['a cross-site request', { csrf: csrf(purpose.decide('r1')) }, { 'sec-fetch-site': 'cross-site' }],
    ["another browser's cookie", { csrf: csrf(purpose.decide('r1')) }, { cookie: 'tessera_session=ts_x' }],
  ] as const)('refuses a decision with %s (DEV-3)', async (_what, values, headers) => {
    const gateway = open();
    const sent = { request: 'r1', user_code: userCode, decision: 'approve', ...values };
    expect((await post(gateway, sent, { ...headers })).statusCode).toBe(400);
    expect(gateway.requests('decideDeviceAuthorization')).toEqual([]);
  });

  it.each(['', 'yes', 'APPROVE'])('refuses the decision %j', async (decision) => {
    const gateway = open();
    const values = { request: 'r1', user_code: userCode, decision, csrf: csrf(purpose.decide('r1')) };
    expect((await post(gateway, values)).statusCode).toBe(400);
    expect(gateway.requests('decideDeviceAuthorization')).toEqual([]);
  });
});
