import { describe, expect, it } from 'vitest';
import { OAuthError } from '@tessera/oauth';
import { OwnPage_Name } from '@tessera/proto-gen/authorize';
import { Code, ConnectError } from '@tessera/rpc';
import { fakeClock, testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { openGateway, passwordStep, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const now = 1_800_000_000;
const html = { accept: 'text/html', cookie: `tessera_browser=${browserId}; tessera_session=ts_x` };
const csrf = antiForgery.token(browserId, purpose.changePassword('u1'));
const sent = { csrf, present_password: 'one', new_password: 'two', repeated_password: 'two' };
const session = {
  sessionId: 's1',
  tenantId: 'acme',
  userId: 'u1',
  username: 'ada',
  name: 'Ada',
  // A sign-in of long ago is enough, as the present password is asked for.
  authentication: { time: 0 },
};
const nobody: Behaviours = { getSession: () => ({}) };

const open = (behaviours: Behaviours = {}) =>
  openGateway(testRuntime({ clock: fakeClock(now * 1000) }), {
    getSession: () => ({ session }),
    begin: () => passwordStep({}),
    continue: () => ({
      next: { next: { case: 'done', value: {} } },
      session: { sessionToken: 'ts_new', maxAge: 43_200 },
    }),
    changePassword: () => ({ outcome: { case: 'session', value: { sessionToken: 'ts_new', maxAge: 60 } } }),
    ...behaviours,
  });
type Gateway = ReturnType<typeof open>;
const get = (gateway: Gateway, query = '', headers: Record<string, string> = {}) =>
  gateway.app.inject({ method: 'GET', url: `/password${query}`, headers: { ...html, ...headers } });
const post = (gateway: Gateway, values: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'POST',
    url: '/password',
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(values).toString(),
  });

describe('GET /password', () => {
  it('asks the signed-in person for the present password and a new one', async () => {
    const { statusCode, body } = await get(open());
    expect(statusCode).toBe(200);
    for (const text of ['value="ada"', 'name="present_password"', 'name="new_password"', csrf])
      expect(body).toContain(text);
  });

  it('asks for the organization, then for a sign-in there, if nobody is signed in', async () => {
    const gateway = open(nobody);
    expect((await get(gateway)).body).toContain('name="tenant"');
    expect((await get(gateway, '?tenant=acme')).body).toContain('name="identifier"');
    const value = { name: OwnPage_Name.PASSWORD, tenantId: 'acme' };
    expect(gateway.requests('begin')).toMatchObject([{ visit: { case: 'page', value } }]);
  });

  it('offers to sign out of a session of another tenant', async () => {
    const { statusCode, body } = await get(open(), '?tenant=globex');
    expect([statusCode, body.includes('name="going" value="password"')]).toEqual([400, true]);
  });

  it('says that the password is changed, once', async () => {
    const answer = await get(open(), '', { cookie: `${html.cookie}; tessera_password_set=1` });
    expect(answer.body).toContain('Your password is changed');
    expect(answer.cookies).toMatchObject([{ name: 'tessera_password_set', maxAge: 0 }]);
  });

  it('is unavailable while processes of another version run', async () => {
    const failing = (code: Code) => () => {
      throw new ConnectError('not known', code);
    };
    const begin = failing(Code.InvalidArgument);
    expect((await get(open({ ...nobody, begin }), '?tenant=acme')).statusCode).toBe(503);
    const changePassword = failing(Code.Unimplemented);
    expect((await post(open({ changePassword }), sent)).statusCode).toBe(503);
  });
});

describe('POST /password', () => {
  it('changes the password and gives the browser a new session', async () => {
    const gateway = open();
    const answer = await post(gateway, sent);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/password']);
    expect(answer.cookies.map(({ name, value }) => [name, value])).toEqual([
      ['tessera_session', 'ts_new'],
      ['tessera_password_set', '1'],
    ]);
    expect(gateway.requests('changePassword')).toMatchObject([
      { browser: { sessionToken: 'ts_x' }, presentPassword: 'one', newPassword: 'two' },
    ]);
  });

  const newOnes = ['new', 'repeated'];
  it.each([
    [
      'the present password is missing',
      { present_password: '' },
      'Enter your current password.',
      ['present'],
    ],
    ['the new one is not repeated', { repeated_password: '' }, 'Enter the new password twice.', newOnes],
    ['it is repeated with a mistake', { repeated_password: 'too' }, 'The two passwords differ.', newOnes],
  ])('asks again if %s, and marks that field', async (_what, values, problem, marked) => {
    const gateway = open();
    const { statusCode, body } = await post(gateway, { ...sent, ...values });
    expect([statusCode, body.includes(problem)]).toEqual([400, true]);
    const fields = [...body.matchAll(/id="(\w+)_password"[^>]* aria-invalid="true"/g)];
    expect(fields.map(([, name]) => name)).toEqual(marked);
    expect(gateway.requests('changePassword')).toEqual([]);
  });

  it.each([
    [{ case: 'wrongPassword', value: {} }, 'Wrong current password.'],
    [{ case: 'passwordProblem', value: 'must be longer' }, 'The new password must be longer.'],
  ] as const)('asks again after %o', async (outcome, problem) => {
    const { statusCode, body, cookies } = await post(open({ changePassword: () => ({ outcome }) }), sent);
    expect([statusCode, body.includes(problem), cookies]).toEqual([400, true, []]);
  });

  it('keeps the form after too many attempts, and says for how long', async () => {
    const changePassword = () => {
      throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds: 800 });
    };
    const { statusCode, headers, body } = await post(open({ changePassword }), sent);
    expect([statusCode, headers['retry-after']]).toEqual([429, '800']);
    expect(body).toContain('Too many attempts. Try again in 14 minutes.');
    expect(body).toMatch(/name="present_password"[^>]* aria-invalid="true"/);
  });

  it('leads to a sign-in if the session has ended', async () => {
    const signedOut = { case: 'signedOut', value: {} } as const;
    for (const behaviours of [nobody, { changePassword: () => ({ outcome: signedOut }) }]) {
      const answer = await post(open(behaviours), sent);
      expect([answer.statusCode, answer.headers.location]).toEqual([303, '/password']);
    }
  });

  it('signs in at the tenant of the form', async () => {
    const token = antiForgery.token(browserId, purpose.signInTo('acme'));
    const values = { tenant: 'acme', identifier: 'ada', password: 'engine', csrf: token };
    const answer = await post(open(nobody), values);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/password']);
  });

  it.each([
    ['no anti-forgery field', { csrf: '' }, {}],
    ['the field of another person', { csrf: antiForgery.token(browserId, purpose.changePassword('u2')) }, {}],
    ['a foreign origin', {}, { origin: 'https://evil.example' }],
  ] as const)('refuses a form with %s', async (_what, values, headers) => {
    const gateway = open();
    expect((await post(gateway, { ...sent, ...values }, { ...headers })).statusCode).toBe(400);
    expect(gateway.requests('changePassword')).toEqual([]);
  });
});
