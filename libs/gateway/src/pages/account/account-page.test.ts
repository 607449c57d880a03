import { AccountProblem } from '@tessera/proto-gen/account';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { Code, ConnectError, timestampFromMs } from '@tessera/rpc';
import { fakeClock, testRuntime } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { antiForgery } from '@tessera/pages';
import { openGateway, passwordStep, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const now = 1_800_000_000_000;
const html = { accept: 'text/html', cookie: `tessera_browser=${browserId}; tessera_session=ts_x` };
const session = {
  sessionId: 's1',
  tenantId: 'acme',
  userId: 'u1',
  username: 'ada',
  name: 'Ada Lovelace',
  authentication: { time: 0 },
};
const time = timestampFromMs(now - 60_000);
const account = {
  session,
  email: 'ada@acme.example',
  passkeys: [{ passkeyId: 'p1', name: 'Phone', createTime: time }],
  sessions: [
    { sessionId: 's1', userAgent: 'x', ipAddress: '192.0.2.1', createTime: time, lastUseTime: time },
    {
      sessionId: 's2',
      userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0',
      ipAddress: '192.0.2.2',
      createTime: time,
      lastUseTime: time,
    },
  ],
  consents: [{ clientId: 'partner', scopes: ['openid'], grantTime: time }],
  activities: [
    { time, event: 'auth.login.succeeded', ipAddress: '192.0.2.9' },
    { time, event: 'auth.factor.added', factor: 'passkey' },
    { time, event: 'consent.granted', clientId: 'partner' },
    { time, event: 'of a newer version' },
  ],
};
const application = (clientId: string) => ({
  application: { clientId, tenantId: 'acme', name: clientId.toUpperCase() },
  tenant: { tenantId: 'acme', name: 'Acme' },
});

const open = (behaviours: Behaviours = {}) =>
  openGateway(testRuntime({ clock: fakeClock(now) }), {
    getSession: () => ({ session }),
    getAccount: () => ({ account }),
    begin: () => passwordStep({}),
    getApplication: ({ clientId }) => application(clientId),
    listBackchannelAuthentications: () => ({ requests: [] }),
    listPersonGrants: () => ({
      grants: [{ clientId: 'web', scopes: ['profile'], createTime: time, lastUseTime: time }],
    }),
    changeName: () => ({}),
    changeEmail: () => ({}),
    closeAccount: () => ({}),
    renamePasskey: () => ({}),
    removeFactor: () => ({ session: { sessionToken: 'ts_new', maxAge: 60 } }),
    endOwnSessions: () => ({ sessions: [{ tenantId: 'acme', sessionId: 's2', earlierSessionIds: ['s0'] }] }),
    noteSessionEnd: () => ({}),
    revokeConsent: () => ({}),
    revokePersonGrants: () => ({}),
    linkProvider: () => ({ location: 'https://idp.example/authorize?state=x' }),
    unlinkProvider: () => ({ session: { sessionToken: 'ts_new', maxAge: 60 } }),
    ...behaviours,
  });
type Gateway = ReturnType<typeof open>;
const get = (gateway: Gateway, address = '', headers: Record<string, string> = {}) =>
  gateway.app.inject({ method: 'GET', url: `/account${address}`, headers: { ...html, ...headers } });
const post = (
  gateway: Gateway,
  values: Record<string, string>,
  headers: Record<string, string> = {},
  page = '',
) =>
  gateway.app.inject({
    method: 'POST',
    url: `/account${page}`,
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(values).toString(),
  });
/** Sends the form of a change. */
const send = (gateway: Gateway, change: string, target = '', more: Record<string, string> = {}) => {
  const csrf = antiForgery.token(browserId, purpose.changeAccount('u1', change, target));
  return post(gateway, { csrf, change, target, confirmed: 'yes', ...more });
};

describe('GET /account', () => {
  it.each([
    ['', ['At a glance', 'One passkey', 'Signed in on 2 devices']],
    ['/sign-in', ['Phone', 'Not used yet.', 'href="/password"', 'You have no authenticator app.']],
    ['/devices', ['This browser.', 'Unknown browser', 'Firefox on Linux', '192.0.2.2']],
    ['/applications', ['PARTNER', 'WEB', 'know who you are']],
    ['/activity', ['You signed in.', '192.0.2.9', 'A passkey was added.', 'You allowed access to PARTNER.']],
    ['/profile', ['ada@acme.example']],
  ])('has a page %s, with the way to the others', async (page, texts) => {
    const { statusCode, body, headers } = await get(open(), page);
    expect(statusCode).toBe(200);
    for (const text of [...texts, 'Ada Lovelace']) expect(body).toContain(text);
    expect(body).not.toContain('of a newer version');
    const links = [...body.matchAll(/<li><a href="([^"]*)"( aria-current="page")?>/g)];
    expect(links.map(([, href]) => href)).toEqual(
      ['', '/sign-in', '/devices', '/applications', '/activity', '/profile'].map(
        (other) => `/account${other}?tenant=acme`,
      ),
    );
    expect(links.filter(([, , here]) => here).map(([, href]) => href)).toEqual([
      `/account${page}?tenant=acme`,
    ]);
    expect(headers['content-security-policy']).toContain("script-src 'self'");
    expect(body.match(/<script[^>]*>/g)).toEqual([
      expect.stringMatching(/^<script src="\/assets\/times\.js/),
    ]);
    expect(headers['content-security-policy']).toContain("form-action 'self'");
    expect(headers['cache-control']).toBe('no-store');
  });

  it('offers to change name and address where they can be changed, and says who else does it', async () => {
    const shown = async (more: object) =>
      (await get(open({ getAccount: () => ({ account: { ...account, ...more } }) }), '/profile')).body;
    const offers = (body: string) =>
      ['change_name', 'change_email', 'Send a link to confirm it', 'Your organization manages'].map((text) =>
        body.includes(text),
      );
    expect(offers(await shown({ sendsMail: true }))).toEqual([true, true, true, false]);
    expect(offers(await shown({ sendsMail: true, emailVerified: true }))).toEqual([true, true, false, false]);
    expect(offers(await shown({}))).toEqual([true, false, false, false]);
    expect(offers(await shown({ sendsMail: true, declared: true }))).toEqual([false, false, false, true]);
  });

  it('says whether all is well, and what to do where it is not', async () => {
    const shown = async (more: object, requests: object[] = []) =>
      (
        await get(
          open({
            getAccount: () => ({ account: { ...account, ...more } }),
            listBackchannelAuthentications: () => ({ requests }),
          }),
        )
      ).body;
    const well = 'All is well. Nothing is missing, and nothing is waiting for you.';
    const codes = 'You have no recovery codes. Get some now, in case you lose your device.';
    expect(await shown({ recoveryCodes: 10 })).toContain(well);
    for (const [more, requests, sentence, page] of [
      [{ recoveryCodes: 0 }, [], codes, '/account/sign-in'],
      [{ recoveryCodes: 2 }, [], 'You have 2 recovery codes left. Get new ones.', '/account/sign-in'],
      [{ passkeys: [] }, [], 'You have no second way to sign in.', '/account/sign-in'],
      [
        { recoveryCodes: 10, sendsMail: true },
        [],
        'Your email address is not confirmed yet.',
        '/account/profile',
      ],
      [{ recoveryCodes: 10 }, [{}], 'One request is waiting for you.', '/approvals'],
    ] as const) {
      const body = await shown(more, [...requests]);
      const todo = /What to do next[^]*?<\/section>/.exec(body)?.[0] ?? '';
      expect(todo).toContain(sentence);
      expect(todo).toContain(`href="${page}?tenant=acme"`);
      expect(body).not.toContain(well);
    }
  });

  it('tells of wrong passwords since the last sign-in, and of that sign-in and not of this one', async () => {
    const at = (secondsAgo: number) => timestampFromMs(now - secondsAgo * 1000);
    const wrong = [70, 80, 90].map((ago) => ({ time: at(ago), event: 'auth.login.failed' }));
    const here = { time: at(60), event: 'auth.login.succeeded', ipAddress: '192.0.2.1' };
    const before = (ago: number) => ({
      time: at(ago),
      event: 'auth.login.succeeded',
      ipAddress: '192.0.2.77',
    });
    const shown = async (activities: object[]) =>
      (await get(open({ getAccount: () => ({ account: { ...account, activities } }) }))).body;
    const warning = 'somebody has entered a wrong password or code several times';
    const warned = await shown([here, ...wrong, before(100)]);
    expect([warned.includes(warning), warned.includes('192.0.2.77')]).toEqual([true, true]);
    expect(await shown([here, ...wrong.slice(1), before(100)])).not.toContain(warning);
    expect(await shown([here, wrong[0] ?? {}, before(75), ...wrong.slice(1)])).not.toContain(warning);
    expect(await shown([here])).toContain('None before this one.');
  });

  it('leads to the page that was asked for, if nobody is signed in', async () => {
    const gateway = open({
      getSession: () => ({}),
      continue: () => ({
        next: { next: { case: 'done', value: {} } },
        session: { sessionToken: 'ts_new', maxAge: 60 },
      }),
    });
    const { body } = await get(gateway, '/devices?tenant=acme');
    const fields = [...body.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)];
    const form = Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]));
    expect(form).toMatchObject({ page: 'devices', visit: 'see' });
    const answer = await post(gateway, { ...form, identifier: 'ada', password: 'x' });
    expect(answer.headers.location).toBe('/account/devices?tenant=acme');
    for (const page of ['nonsense', '__proto__', '//evil.example']) {
      const other = await post(gateway, { ...form, page, identifier: 'ada', password: 'x' });
      expect(other.headers.location).toBe('/account?tenant=acme');
    }
  });

  it('asks for the organization, then for a sign-in there, if nobody is signed in', async () => {
    const gateway = open({ getSession: () => ({}) });
    expect((await get(gateway)).body).toContain('name="tenant"');
    expect((await get(gateway, '?tenant=acme')).body).toContain('name="identifier"');
    const value = { name: OwnPage_Name.ACCOUNT, tenantId: 'acme' };
    expect(gateway.requests('begin')).toMatchObject([{ visit: { case: 'page', value } }]);
    expect(gateway.requests('getAccount')).toEqual([]);
  });

  it('shows no account of another tenant than the address names', async () => {
    const gateway = open();
    const { statusCode, body } = await get(gateway, '?tenant=globex');
    expect([statusCode, body.includes('Ada')]).toEqual([400, false]);
    expect(gateway.requests('getAccount')).toEqual([]);
  });

  it('answers JSON to other clients', async () => {
    const answer = await get(open(), '', { accept: 'application/json' });
    expect(answer.json()).toEqual({ isSuccess: true, data: { message: 'This is your account.' } });
  });

  it('asks again later while a service of another version is running', async () => {
    const unknown = () => {
      throw new ConnectError('no such method', Code.Unimplemented);
    };
    const nobody = { getSession: () => ({}) };
    const unknownPage = () => {
      throw new ConnectError('A visit is required.', Code.InvalidArgument);
    };
    for (const [page, behaviours] of [
      ['', { getAccount: unknown }],
      ['', { listBackchannelAuthentications: unknown }],
      ['/applications', { listPersonGrants: unknown }],
      ['', { ...nobody, begin: unknownPage }],
    ] as const)
      expect((await get(open(behaviours), `${page}?tenant=acme`)).statusCode).toBe(503);
  });

  it('says what became of a change, once, and nothing that it does not know', async () => {
    const cookie = (result: string) => ({ cookie: `${html.cookie}; tessera_account_result=${result}` });
    const answer = await get(open(), '', cookie('sessions_ended'));
    expect(answer.body).toContain('All other browsers are signed out.');
    expect(answer.cookies).toMatchObject([{ name: 'tessera_account_result', value: '', maxAge: 0 }]);
    for (const other of ['constructor', 'nonsense'])
      expect((await get(open(), '', cookie(other))).body).not.toContain('class="notice"');
  });
});

describe('POST /account', () => {
  it('keeps the organization in the address after a sign-in, where Back leads once the person is signed out', async () => {
    const gateway = open({
      getSession: () => ({}),
      continue: () => ({
        next: { next: { case: 'done', value: {} } },
        session: { sessionToken: 'ts_new', maxAge: 60 },
      }),
    });
    const csrf = antiForgery.token(browserId, purpose.signInTo('acme'));
    const fields = { csrf, tenant: 'acme', visit: 'see', identifier: 'ada', password: 'x' };
    const answer = await gateway.app.inject({
      method: 'POST',
      url: '/account',
      headers: { ...html, 'content-type': 'application/x-www-form-urlencoded' },
      payload: new URLSearchParams(fields).toString(),
    });
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/account?tenant=acme']);
  });

  it.each([
    ['change_name', '', '/profile', 'name_changed', { name: 'Ada King' }],
    ['change_email', '', '/profile', 'email_proposed', { email: 'ada@new.example' }],
    ['rename_passkey', 'p1', '/sign-in', 'passkey_renamed', { name: 'Laptop' }],
    ['remove_passkey', 'p1', '/sign-in', 'passkey_removed', {}],
    ['remove_totp', '', '/sign-in', 'totp_removed', {}],
    ['end_session', 's2', '/devices', 'session_ended', {}],
    ['end_other_sessions', '', '/devices', 'sessions_ended', {}],
    ['revoke_access', 'web', '/applications', 'access_revoked', {}],
  ] as const)(
    'makes the change %s, and leads back to the page that it came from, wherever the form is sent',
    async (change, target, page, result, more) => {
      const csrf = antiForgery.token(browserId, purpose.changeAccount('u1', change, target));
      const form = { csrf, change, target, confirmed: 'yes', ...more };
      for (const to of [page, '']) {
        const answer = await post(open(), form, {}, to);
        expect([answer.statusCode, answer.headers.location]).toEqual([303, `/account${page}?tenant=acme`]);
        expect(answer.cookies.at(-1)).toMatchObject({ name: 'tessera_account_result', value: result });
      }
      expect((await post(open(), form, {}, '/activity')).statusCode).toBe(400);
    },
  );

  it.each([
    ['remove_passkey', 'p1', '/sign-in', 'removeFactor', 'Remove passkey', 'Phone'],
    ['remove_totp', '', '/sign-in', 'removeFactor', 'Remove authenticator app', ''],
    ['unlink_provider', 'corp', '/sign-in', 'unlinkProvider', 'Remove this way to sign in', 'Corp'],
    ['revoke_access', 'web', '/applications', 'revokePersonGrants', 'Remove access', 'WEB'],
    ['close_account', '', '/profile', 'closeAccount', 'Close account', ''],
  ] as const)(
    'says first what %s ends, by name, on a page with a way back',
    async (change, target, page, method, label, subject) => {
      const providers = [{ name: 'corp', displayName: 'Corp', linkTime: time }];
      const gateway = open({ getAccount: () => ({ account: { ...account, providers } }) });
      const csrf = antiForgery.token(browserId, purpose.changeAccount('u1', change, target));
      const asked = await post(gateway, { csrf, change, target }, {}, page);
      expect(asked.statusCode).toBe(200);
      expect(asked.body).toContain(`<button class="danger" type="submit">${label}</button>`);
      expect(asked.body).toContain(`<a href="/account${page}?tenant=acme">Cancel</a>`);
      if (subject !== '') expect(asked.body).toContain(`<strong><bdi>${subject}</bdi></strong>`);
      expect(asked.body).toContain(`action="/account${page}"`);
      expect(gateway.requests(method)).toEqual([]);
      const fields = [...asked.body.matchAll(/type="hidden" name="([^"]*)" value="([^"]*)"/g)];
      const form = Object.fromEntries(fields.map(([, name = '', value = '']) => [name, value]));
      await post(gateway, form, {}, page);
      expect(gateway.requests(method)).toHaveLength(1);
    },
  );

  it('names no application of another tenant', async () => {
    const other = { application: { clientId: 'web', tenantId: 'globex', name: 'Secret plans' } };
    const gateway = open({ getApplication: () => other });
    const csrf = antiForgery.token(browserId, purpose.changeAccount('u1', 'revoke_access', 'web'));
    const form = { csrf, change: 'revoke_access', target: 'web' };
    const { body } = await post(gateway, form, {}, '/applications');
    expect(body).toContain('Remove the access of this application?');
    expect(body).not.toContain('Secret plans');
  });

  it('lists the providers of the tenant, those that are linked first, and lets a form lead to one', async () => {
    const providers = [
      { name: 'club', displayName: 'C & A' },
      { name: 'corp', displayName: 'Corp', linkTime: time },
    ];
    const { body, headers } = await get(
      open({ getAccount: () => ({ account: { ...account, providers } }) }),
      '/sign-in',
    );
    expect(body).toContain('Linked providers');
    expect(body.indexOf('<h3>Corp</h3>')).toBeGreaterThan(0);
    expect(body.indexOf('Link C &amp; A')).toBeGreaterThan(body.indexOf('<h3>Corp</h3>'));
    expect(body).not.toContain('Link Corp');
    expect(headers['content-security-policy']).not.toContain('form-action');
    expect((await get(open(), '/sign-in')).body, 'without providers').not.toContain('Linked providers');
  });

  it('sends the browser to the provider to link, with what leads back to the page', async () => {
    const gateway = open();
    const answer = await send(gateway, 'link_provider', 'corp');
    expect([answer.statusCode, answer.headers.location]).toEqual([
      303,
      'https://idp.example/authorize?state=x',
    ]);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(gateway.requests('linkProvider')).toMatchObject([
      { provider: 'corp', resume: 'going=account&tenant=acme', browser: { browserId, sessionToken: 'ts_x' } },
    ]);
  });

  it.each([
    ['link_provider', 'linkProvider', AccountProblem.PROVIDER_UNREACHABLE, 'link_unreachable'],
    ['link_provider', 'linkProvider', AccountProblem.UNKNOWN, 'unknown'],
    ['unlink_provider', 'unlinkProvider', AccountProblem.LAST_WAY_IN, 'last_provider'],
    ['unlink_provider', 'unlinkProvider', AccountProblem.UNKNOWN, 'unknown'],
    ['unlink_provider', 'unlinkProvider', AccountProblem.UNSPECIFIED, 'provider_unlinked'],
  ] as const)('says what became of %s (%s, %s)', async (change, method, problem, result) => {
    const answer = await send(open({ [method]: () => ({ problem }) }), change, 'corp');
    expect(answer.headers.location).toBe('/account/sign-in?tenant=acme');
    expect(answer.cookies.at(-1)).toMatchObject({ name: 'tessera_account_result', value: result });
  });

  it.each(['linkProvider', 'unlinkProvider'] as const)('asks to sign in again before %s', async (method) => {
    const gateway = open({ [method]: () => ({ problem: AccountProblem.SIGN_IN_AGAIN }) });
    const change = method === 'linkProvider' ? 'link_provider' : 'unlink_provider';
    expect((await send(gateway, change, 'corp')).body).toContain('Confirm that it is you');
  });

  it('gives the browser the session that is left when a provider is unlinked', async () => {
    const { cookies } = await send(open(), 'unlink_provider', 'corp');
    expect(cookies).toMatchObject([{ name: 'tessera_session', value: 'ts_new' }, {}]);
  });

  it('sends what was typed, in the language of the browser', async () => {
    const gateway = open();
    await send(gateway, 'change_name', '', { name: 'Ada King' });
    expect(gateway.requests('changeName')).toMatchObject([{ name: 'Ada King', browser: { browserId } }]);
    const csrf = antiForgery.token(browserId, purpose.changeAccount('u1', 'change_email', ''));
    const form = { csrf, change: 'change_email', target: '', email: 'ada@new.example' };
    await post(gateway, form, { 'accept-language': 'de' });
    expect(gateway.requests('changeEmail')).toMatchObject([{ email: 'ada@new.example', language: 'de' }]);
  });

  it('asks to sign in again before it sends a link to another address', async () => {
    const gateway = open({ changeEmail: () => ({ problem: AccountProblem.SIGN_IN_AGAIN }) });
    const { body } = await send(gateway, 'change_email', '', { email: 'ada@new.example' });
    expect(body).toContain('Confirm that it is you');
  });

  it('says what is wrong with a name or an address', async () => {
    const bad = () => ({ problem: AccountProblem.BAD_TEXT });
    const gateway = open({ changeName: bad, changeEmail: bad });
    expect((await send(gateway, 'change_name')).cookies).toMatchObject([{ value: 'bad_name' }]);
    expect((await send(gateway, 'change_email')).cookies).toMatchObject([{ value: 'bad_email' }]);
  });

  it('closes the account, forgets the session and says so', async () => {
    const gateway = open();
    const answer = await send(gateway, 'close_account');
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/account?closed=1']);
    expect(answer.cookies).toMatchObject([{ name: 'tessera_session', value: '', maxAge: 0 }]);
    const after = await get(open({ getSession: () => ({}) }), '?closed=1');
    expect(after.body).toContain('Your account is closed');
    const again = open({ closeAccount: () => ({ problem: AccountProblem.SIGN_IN_AGAIN }) });
    expect((await send(again, 'close_account')).body).toContain('Confirm that it is you');
    const last = open({ closeAccount: () => ({ problem: AccountProblem.LAST_ADMINISTRATOR }) });
    expect((await send(last, 'close_account')).cookies).toMatchObject([{ value: 'last_administrator' }]);
  });

  it('offers to close the account where the tenant lets people', async () => {
    const shown = async (closable: boolean) =>
      (await get(open({ getAccount: () => ({ account: { ...account, closable } }) }), '/profile')).body;
    expect(await shown(true)).toContain('close_account');
    expect(await shown(false)).not.toContain('close_account');
  });

  it('gives the browser the session that is left when a factor is removed', async () => {
    const gateway = open();
    const { cookies } = await send(gateway, 'remove_passkey', 'p1');
    expect(cookies).toMatchObject([{ name: 'tessera_session', value: 'ts_new' }, {}]);
    await send(gateway, 'remove_totp');
    expect(gateway.requests('removeFactor')).toMatchObject([{ passkeyId: 'p1' }, { passkeyId: '' }]);
  });

  it('asks to sign in again before it removes a factor, for that visit, and then says so', async () => {
    const gateway = open({
      removeFactor: () => ({ problem: AccountProblem.SIGN_IN_AGAIN }),
      continue: () => ({ next: { next: { case: 'done', value: {} } } }),
    });
    const answer = await send(gateway, 'remove_passkey', 'p1');
    expect(answer.body).toContain('Confirm that it is you');
    const value = { name: OwnPage_Name.ACCOUNT_CHANGE, tenantId: 'acme' };
    expect(gateway.requests('begin')).toMatchObject([{ visit: { case: 'page', value } }]);
    const csrf = /name="csrf" value="([^"]+)"/.exec(answer.body)?.[1] ?? '';
    const form = {
      csrf,
      tenant: 'acme',
      visit: 'change',
      page: 'sign-in',
      identifier: 'ada',
      password: 'x',
    };
    const confirmed = await post(gateway, form);
    expect(answer.body).toContain('name="page" value="sign-in"');
    expect(confirmed.headers.location).toBe('/account/sign-in?tenant=acme');
    expect(confirmed.cookies).toMatchObject([{ value: 'confirmed' }]);
    expect(gateway.requests('continue')).toMatchObject([{ visit: { case: 'page', value } }]);
    for (const visit of ['see', 'add_totp', 'constructor'])
      expect((await post(gateway, { ...form, visit })).statusCode).toBe(400);
  });

  it.each([
    ['add_passkey', OwnPage_Name.ADD_PASSKEY],
    ['add_totp', OwnPage_Name.ADD_TOTP],
    ['new_recovery_codes', OwnPage_Name.NEW_RECOVERY_CODES],
  ] as const)('begins the visit of %s', async (change, name) => {
    const gateway = open();
    expect((await send(gateway, change)).body).toContain('Confirm that it is you');
    const value = { name, tenantId: 'acme' };
    expect(gateway.requests('begin')).toMatchObject([{ visit: { case: 'page', value } }]);
    const nothing = open({ begin: () => ({ next: { next: { case: 'done', value: {} } } }) });
    expect((await send(nothing, change)).headers.location).toBe('/account/sign-in');
  });

  it('names a passkey as the person typed it', async () => {
    const gateway = open();
    await send(gateway, 'rename_passkey', 'p1', { name: 'Laptop' });
    expect(gateway.requests('renamePasskey')).toMatchObject([
      { passkeyId: 'p1', name: 'Laptop', browser: { browserId, sessionToken: 'ts_x' } },
    ]);
  });

  it('reports every ended session to token before it answers', async () => {
    const gateway = open();
    await send(gateway, 'end_other_sessions');
    expect(gateway.requests('noteSessionEnd')).toMatchObject([
      { tenantId: 'acme', sessionId: 's2' },
      { tenantId: 'acme', sessionId: 's0' },
    ]);
  });

  it('revokes the consent and all refresh tokens of an application, of this person alone', async () => {
    let left = 2;
    const gateway = open({ revokePersonGrants: () => ({ more: (left -= 1) > 0 }) });
    await send(gateway, 'revoke_access', 'web');
    expect(gateway.requests('revokeConsent')).toMatchObject([{ clientId: 'web' }]);
    const revoked = { tenantId: 'acme', userId: 'u1', clientId: 'web', ipAddress: '127.0.0.1' };
    expect(gateway.requests('revokePersonGrants')).toMatchObject([revoked, revoked]);
  });

  it.each([
    [AccountProblem.UNKNOWN, 'unknown'],
    [AccountProblem.BAD_TEXT, 'bad_text'],
    [AccountProblem.SIGNED_OUT, 'signed_out'],
    [AccountProblem.LAST_WAY_IN, 'last_way_in'],
    [AccountProblem.READ_ONLY, 'read_only'],
  ])('says why nothing has changed (%s)', async (problem, result) => {
    const answer = await send(open({ renamePasskey: () => ({ problem }) }), 'rename_passkey', 'p1');
    expect(answer.cookies).toMatchObject([{ value: result }]);
  });

  it('refuses a form of another target, change, person, browser or origin', async () => {
    const gateway = open();
    const form = (user: string, change: string, target: string) => ({
      csrf: antiForgery.token(browserId, purpose.changeAccount(user, change, target)),
      change: 'end_session',
      target: 's2',
    });
    for (const values of [
      form('u1', 'end_session', 's3'),
      form('u1', 'revoke_access', 's2'),
      form('u2', 'end_session', 's2'),
      { ...form('u1', 'end_session', 's2'), csrf: '' },
    ])
      expect((await post(gateway, values)).statusCode).toBe(400);
    const foreign = { origin: 'https://evil.example' };
    expect((await post(gateway, form('u1', 'end_session', 's2'), foreign)).statusCode).toBe(400);
    expect(gateway.requests('endOwnSessions')).toEqual([]);
  });

  it('knows no other change, and none without a target that needs one', async () => {
    expect((await send(open(), 'constructor')).statusCode).toBe(400);
    const gateway = open();
    for (const change of ['end_session', 'revoke_access', 'remove_passkey'])
      expect((await send(gateway, change)).cookies).toMatchObject([{ value: 'unknown' }]);
    expect(gateway.requests('endOwnSessions')).toEqual([]);
  });

  it('changes nothing for a person who was signed out meanwhile', async () => {
    const gateway = open({ getSession: () => ({}) });
    const answer = await send(gateway, 'end_other_sessions');
    expect(answer.statusCode).toBe(303);
    expect(gateway.requests('endOwnSessions')).toEqual([]);
  });
});
