import { describe, expect, it } from 'vitest';
import { Code, ConnectError, invalidFields } from '@tessera/rpc';
import { testRuntime } from '@tessera/test-kit';
import { antiForgery } from '@tessera/pages';
import { openGateway, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const interaction = `ti_${'v'.repeat(43)}`;
const html = { accept: 'text/html', cookie: `tessera_browser=${browserId}` };
const csrf = antiForgery.token(browserId, purpose.register('acme', interaction));
const typed = { tenant: 'acme', interaction, csrf, email: 'ada@people.example' };

const open = (behaviours: Behaviours = {}, settings = {}) =>
  openGateway(testRuntime(), { requestRegistration: () => ({}), ...behaviours }, settings);
type Gateway = ReturnType<typeof open>;
const get = (gateway: Gateway, query: string) =>
  gateway.app.inject({ method: 'GET', url: `/register${query}`, headers: html });
const post = (gateway: Gateway, values: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  gateway.app.inject({
    method: 'POST',
    url: '/register',
    headers: { ...html, 'content-type': 'application/x-www-form-urlencoded', ...headers },
    payload: new URLSearchParams({ ...typed, ...values }).toString(),
  });
const failing = (code: Code) => () => {
  throw new ConnectError('no', code);
};

describe('/register', () => {
  it('asks for an address at the tenant of the visit', async () => {
    const { statusCode, body } = await get(open(), `?tenant=acme&interaction=${interaction}`);
    expect(statusCode).toBe(200);
    for (const text of ['name="email"', `value="${interaction}"`, csrf]) expect(body).toContain(text);
  });

  it('asks for the mail, and says the same whoever has the address', async () => {
    const gateway = open();
    const answer = await post(gateway, {}, { 'accept-language': 'ar' });
    expect([answer.statusCode, answer.headers.location]).toEqual([
      303,
      `/register?tenant=acme&interaction=${interaction}&sent=1`,
    ]);
    expect(gateway.requests('requestRegistration')).toMatchObject([
      { tenantId: 'acme', email: 'ada@people.example', interactionId: interaction, language: 'ar' },
    ]);
    const { body } = await get(gateway, '?tenant=acme&sent=1');
    expect(body).toContain('If you can use this address here, we');
  });

  it.each([
    ['must be an e-mail address', 'Enter an email address.'],
    ['must be of a domain of the tenant', 'Your organization takes no registration with this address.'],
  ])('asks again for an address that %s, with what was typed', async (description, problem) => {
    const refuse = () => {
      throw invalidFields([{ field: 'email', description }]);
    };
    const { statusCode, body } = await post(open({ requestRegistration: refuse }));
    expect([statusCode, body.includes(problem)]).toEqual([400, true]);
    expect(body).toContain('value="ada@people.example"');
  });

  it.each([
    [Code.NotFound, 404],
    [Code.FailedPrecondition, 404],
    [Code.Unimplemented, 503],
  ])('is not there if the directory answers %d', async (code, status) => {
    expect((await post(open({ requestRegistration: failing(code) }))).statusCode).toBe(status);
  });

  it('says on a page that nobody may make an account, before the form and after it, and leads on', async () => {
    const closed = { getTenantLooks: () => ({ name: 'Acme', registers: false, recovers: true }) };
    const gateway = open(closed);
    for (const answer of [
      await get(gateway, `?tenant=acme&interaction=${interaction}`),
      await get(gateway, '?tenant=acme&sent=1'),
      await post(gateway),
      await post(open({ requestRegistration: failing(Code.NotFound) })),
    ]) {
      expect(answer.statusCode).toBe(404);
      expect(answer.body).toContain('You cannot create an account here');
      expect(answer.body).not.toContain('name="email"');
    }
    expect((await post(gateway)).body).toContain(`href="/login?interaction=${interaction}"`);
    expect(gateway.requests('requestRegistration')).toEqual([]);
    const json = await gateway.app.inject({ method: 'GET', url: '/register?tenant=acme' });
    expect(json.json()).toMatchObject({ isSuccess: false, error: 'invalid_request' });
  });

  it('shows the form if a directory of the previous version does not say who may make an account', async () => {
    const { statusCode } = await get(open({ getTenantLooks: () => ({ name: 'Acme' }) }), '?tenant=acme');
    expect(statusCode).toBe(200);
  });

  it('takes so many requests from one address, counted before they are looked at', async () => {
    const gateway = open({}, { TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '10' });
    const statuses = [(await post(gateway)).statusCode, (await post(gateway)).statusCode];
    expect(statuses).toEqual([303, 429]);
    expect(gateway.requests('requestRegistration')).toHaveLength(1);
  });

  it('refuses a form of another visit', async () => {
    const gateway = open();
    expect((await post(gateway, { interaction: `${interaction}x` })).statusCode).toBe(400);
    expect(gateway.requests('requestRegistration')).toEqual([]);
  });
});

describe('the link of a registration', () => {
  it.each([interaction, '//evil.example', 'x\r\nlocation: https://evil.example', 'https://evil.example/#'])(
    'leads back to the visit once the account is made, and nowhere else: %j',
    async (visit) => {
      const link = `tl_${'b'.repeat(43)}`;
      const gateway = open({
        getPasswordLink: () => ({
          tenantId: 'acme',
          tenantName: 'Acme',
          username: 'ada@people.example',
          purpose: 'registration',
        }),
        redeemPasswordLink: () => ({}),
      });
      const url = `/password/link?link=${link}&interaction=${encodeURIComponent(visit)}`;
      const { body } = await gateway.app.inject({ method: 'GET', url, headers: html });
      expect(body).toContain('Create your account');
      const password = 'a passphrase of ada';
      const form = {
        link,
        interaction: visit,
        csrf: antiForgery.token(browserId, purpose.usePasswordLink(link)),
        new_password: password,
        repeated_password: password,
      };
      const answer = await gateway.app.inject({
        method: 'POST',
        url: '/password/link',
        headers: { ...html, 'content-type': 'application/x-www-form-urlencoded' },
        payload: new URLSearchParams(form).toString(),
      });
      expect([answer.statusCode, answer.headers.location]).toEqual([
        303,
        `/login?${new URLSearchParams({ interaction: visit }).toString()}`,
      ]);
    },
  );
});
