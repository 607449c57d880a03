import { describe, expect, it } from 'vitest';
import { Code, ConnectError } from '@tessera/rpc';
import { testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { openGateway, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const link = `tl_${'b'.repeat(43)}`;
const html = { accept: 'text/html', cookie: `tessera_browser=${browserId}` };
const csrf = antiForgery.token(browserId, purpose.usePasswordLink(link));
const password = 'a passphrase of eve';
const chosen = { link, csrf, new_password: password, repeated_password: password };
const gone = () => {
  throw new ConnectError('The link is not known.', Code.NotFound);
};

const open = (behaviours: Behaviours = {}) =>
  openGateway(testRuntime(), {
    getPasswordLink: () => ({ tenantId: 'acme', tenantName: 'Acme', username: 'eve', purpose: 'invitation' }),
    redeemPasswordLink: () => ({}),
    ...behaviours,
  });
type Gateway = ReturnType<typeof open>;
const get = (gateway: Gateway, query = `?link=${link}`, headers: Record<string, string> = {}) =>
  gateway.app.inject({ method: 'GET', url: `/password/link${query}`, headers: { ...html, ...headers } });
const post = (gateway: Gateway, values: Record<string, string>, headers: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'POST',
    url: '/password/link',
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams(values).toString(),
  });

describe('GET /password/link', () => {
  it('asks for the password of the person, and changes nothing', async () => {
    const gateway = open();
    const { statusCode, body, headers } = await get(gateway);
    expect(statusCode).toBe(200);
    for (const text of ['Acme', 'value="eve"', 'name="new_password"', `value="${link}"`, csrf])
      expect(body).toContain(text);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    expect(headers['content-security-policy']).toContain("form-action 'self'");
    expect(gateway.requests('getPasswordLink')).toMatchObject([{ link, tenantId: '' }]);
    expect(gateway.requests('redeemPasswordLink')).toEqual([]);
  });

  it('answers alike for a link that is unknown, used or expired, and for none', async () => {
    const gateway = open({ getPasswordLink: gone });
    const answers = [await get(gateway), await get(gateway, '?link=x'), await get(gateway, '')];
    for (const { statusCode, body } of answers) {
      expect(statusCode).toBe(400);
      expect(body).toContain('This link is not valid');
      expect(body).toContain('ask your administrator for a new link');
    }
    const other = (await get(gateway, '?link=x', { accept: 'application/json' })).json<object>();
    expect(other).toMatchObject({ isSuccess: false, error: 'invalid_request' });
  });

  it('says that the password is set, once', async () => {
    const gateway = open();
    const answer = await get(gateway, '', { cookie: `${html.cookie}; tessera_password_set=1` });
    expect([answer.statusCode, answer.body.includes('Your password is set')]).toEqual([200, true]);
    expect(answer.cookies).toMatchObject([{ name: 'tessera_password_set', value: '', maxAge: 0 }]);
  });

  it('then leads to the account of the person, at the organization of the link and with its looks', async () => {
    const cookie = `${html.cookie}; tessera_password_set=1`;
    const { body } = await get(open(), '?tenant=acme', { cookie });
    expect(body).toContain('<a href="/account?tenant=acme">Sign in to your account</a>');
    expect(body).toContain('data-tenant="acme"');
    const other = await get(open(), '?tenant=%22%3Eacme', { cookie });
    expect(other.body).toContain('<a href="/account">Sign in to your account</a>');
  });

  it('asks again later if the directory does not know links yet', async () => {
    const unknown = () => {
      throw new ConnectError('no such method', Code.Unimplemented);
    };
    expect((await get(open({ getPasswordLink: unknown }))).statusCode).toBe(503);
  });
});

describe('a passkey in place of the password', () => {
  const asked = {
    tenantId: 'acme',
    tenantName: 'Acme',
    username: 'eve',
    purpose: 'invitation',
    passkeyOptions: '{"challenge":"c"}',
    passkeyNonce: 'a-nonce',
  };
  const made = { link, csrf, passkey_created: '{"id":"x"}', passkey_nonce: 'a-nonce' };

  it('is asked for where the link makes one, by a form that script shows', async () => {
    const gateway = open({ getPasswordLink: () => asked });
    const { body, headers } = await get(gateway);
    expect(headers['content-security-policy']).toContain("script-src 'self'");
    expect(body).toMatch(/<form[^>]* hidden data-passkey="create" data-field="passkey_created"/);
    for (const text of [
      'Create a passkey instead',
      'value="a-nonce"',
      '{&quot;challenge&quot;:&quot;c&quot;}',
    ])
      expect(body).toContain(text);
    expect(gateway.requests('getPasswordLink')).toMatchObject([{ issuer: 'http://localhost' }]);
    expect((await get(open())).body).not.toContain('data-passkey');
  });

  it('is enrolled, and the next page says so', async () => {
    const gateway = open({ getPasswordLink: () => asked });
    const answer = await post(gateway, made);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/password/link?tenant=acme']);
    expect(gateway.requests('redeemPasswordLink')).toMatchObject([
      { link, password: '', passkey: '{"id":"x"}', passkeyNonce: 'a-nonce', issuer: 'http://localhost' },
    ]);
    const [{ name, value } = { name: '', value: '' }] = answer.cookies;
    const { body } = await get(gateway, '', { cookie: `${html.cookie}; ${name}=${value}` });
    expect(body).toContain('Your passkey is ready');
  });

  it('is asked for again if it is not a good one', async () => {
    const refusing = open({
      getPasswordLink: () => asked,
      redeemPasswordLink: () => ({ passkeyRefused: true }),
    });
    const { statusCode, body } = await post(refusing, made);
    expect([statusCode, body.includes('No passkey was created. Try again.')]).toEqual([400, true]);
    expect(body).not.toContain('{&quot;id&quot;');
  });
});

describe('POST /password/link', () => {
  it('sets the password, and leads to a page whose address has no link', async () => {
    const gateway = open();
    const answer = await post(gateway, chosen);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/password/link?tenant=acme']);
    expect(answer.cookies).toMatchObject([{ name: 'tessera_password_set', value: '1' }]);
    expect(gateway.requests('redeemPasswordLink')).toMatchObject([
      { link, password, tenantId: '', ipAddress: '127.0.0.1' },
    ]);
  });

  it.each([
    ['is missing', { new_password: '' }, 'Enter the new password twice.'],
    ['is not repeated', { repeated_password: '' }, 'Enter the new password twice.'],
    ['is repeated with a mistake', { repeated_password: 'a passphrase of ewe' }, 'The two passwords differ.'],
  ])('asks again if the password %s', async (_how, values, problem) => {
    const gateway = open();
    const { statusCode, body } = await post(gateway, { ...chosen, ...values });
    expect([statusCode, body.includes(problem)]).toEqual([400, true]);
    expect(body).toContain(`value="${link}"`);
    expect(body).not.toContain('passphrase');
    expect(gateway.requests('redeemPasswordLink')).toEqual([]);
  });

  it('asks again if the person may not have this password', async () => {
    const passwordProblem = 'must have at least 8 characters';
    const { statusCode, body } = await post(
      open({ redeemPasswordLink: () => ({ passwordProblem }) }),
      chosen,
    );
    expect([statusCode, body.includes(`The password ${passwordProblem}.`)]).toEqual([400, true]);
  });

  it.each([
    ['was used', { getPasswordLink: gone }],
    ['was used meanwhile', { redeemPasswordLink: gone }],
  ] as const)('answers as at first if the link %s', async (_when, behaviours) => {
    const { statusCode, body, cookies } = await post(open(behaviours), chosen);
    expect([statusCode, body.includes('This link is not valid'), cookies]).toEqual([400, true, []]);
  });

  it.each([
    ['no anti-forgery field', { csrf: '' }, {}],
    ['the field of another link', { link: `${link}x` }, {}],
    ['a foreign origin', {}, { origin: 'https://evil.example' }],
  ] as const)('refuses a form with %s', async (_what, values, headers) => {
    const gateway = open();
    expect((await post(gateway, { ...chosen, ...values }, { ...headers })).statusCode).toBe(400);
    expect(gateway.requests('redeemPasswordLink')).toEqual([]);
  });
});
