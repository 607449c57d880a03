import { describe, expect, it } from 'vitest';
import { Code, ConnectError } from '@tessera/rpc';
import { testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { openGateway, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const html = { accept: 'text/html', cookie: `tessera_browser=${browserId}` };
const csrf = antiForgery.token(browserId, purpose.forgottenPassword('acme'));
const typed = { tenant: 'acme', csrf, identifier: 'eve' };

const open = (behaviours: Behaviours = {}, settings = {}) =>
  openGateway(testRuntime(), { requestPasswordReset: () => ({}), ...behaviours }, settings);
type Gateway = ReturnType<typeof open>;
const get = (gateway: Gateway, query = '?tenant=acme', headers: Record<string, string> = {}) =>
  gateway.app.inject({ method: 'GET', url: `/password/forgot${query}`, headers: { ...html, ...headers } });
const post = (gateway: Gateway, values: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'POST',
    url: '/password/forgot',
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(values).toString(),
  });
const failing = (code: Code) => () => {
  throw new ConnectError('no', code);
};

describe('GET /password/forgot', () => {
  it('asks whose password it is, at the tenant of the address', async () => {
    const { statusCode, body, headers } = await get(open());
    expect(statusCode).toBe(200);
    for (const text of ['name="identifier"', 'name="tenant" value="acme"', csrf])
      expect(body).toContain(text);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
  });

  it('asks for the organization first where nothing names it', async () => {
    const { body } = await get(open(), '');
    expect(body).toContain('action="/password/forgot"');
    expect(body).toContain('name="tenant" type="text"');
  });
});

describe('POST /password/forgot', () => {
  it('asks for the mail in the language of the page, and says the same whoever it is', async () => {
    const gateway = open();
    const answer = await post(gateway, typed, { 'accept-language': 'de' });
    expect([answer.statusCode, answer.headers.location]).toEqual([
      303,
      '/password/forgot?tenant=acme&sent=1',
    ]);
    expect(gateway.requests('requestPasswordReset')).toMatchObject([
      { tenantId: 'acme', issuerTenantId: '', identifier: 'eve', language: 'de', ipAddress: '127.0.0.1' },
    ]);
    const { body } = await get(gateway, '?tenant=acme&sent=1');
    expect(body).toContain('such an account, we');
    expect(body).not.toContain('eve');
  });

  it('asks again without an identifier', async () => {
    const gateway = open();
    const { statusCode, body } = await post(gateway, { ...typed, identifier: '' });
    expect([statusCode, body.includes('Enter your user name, email address or phone number.')]).toEqual([
      400,
      true,
    ]);
    expect(gateway.requests('requestPasswordReset')).toEqual([]);
  });

  it.each([
    [Code.NotFound, 404],
    [Code.FailedPrecondition, 404],
    [Code.Unimplemented, 503],
    [Code.Unavailable, 503],
  ])('is not there if the directory answers %d', async (code, status) => {
    expect((await post(open({ requestPasswordReset: failing(code) }), typed)).statusCode).toBe(status);
  });

  it('says on a page that no mail is sent, before the form and after it', async () => {
    const silent = { getTenantLooks: () => ({ name: 'Acme', registers: false, recovers: false }) };
    const gateway = open(silent);
    for (const answer of [await get(gateway), await post(gateway, typed)]) {
      expect(answer.statusCode).toBe(404);
      expect(answer.body).toContain('You cannot reset your password here');
      expect(answer.body).not.toContain('name="identifier"');
    }
    expect(gateway.requests('requestPasswordReset')).toEqual([]);
  });

  it('takes so many requests from one address, counted before they are looked at', async () => {
    const gateway = open({}, { TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '20' });
    const answers = [];
    for (let at = 0; at < 3; at += 1) answers.push(await post(gateway, { ...typed, identifier: `p${at}` }));
    expect(answers.map(({ statusCode }) => statusCode)).toEqual([303, 303, 429]);
    expect(gateway.requests('requestPasswordReset')).toHaveLength(2);
  });

  it.each([
    ['no anti-forgery field', { csrf: '' }, {}],
    ['the field of another tenant', { tenant: 'globex' }, {}],
    ['a foreign origin', {}, { origin: 'https://evil.example' }],
  ] as const)('refuses a form with %s', async (_what, values, headers) => {
    const gateway = open();
    expect((await post(gateway, { ...typed, ...values }, { ...headers })).statusCode).toBe(400);
    expect(gateway.requests('requestPasswordReset')).toEqual([]);
  });
});
