import { testRuntime } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { antiForgery } from '@tessera/pages';
import { openGateway, type Behaviours } from '../../testing/fake-services.ts';
import { purpose } from '../form.ts';

const browserId = `tb_${'a'.repeat(43)}`;
const atProvider = 'https://idp.example/end?id_token_hint=x';
const toClient = 'https://app.example/bye?logged_out=1&state=s';
const cookies = `tessera_browser=${browserId}; tessera_session=ts_x`;

const open = (answer: object = {}, behaviours: Behaviours = {}) =>
  openGateway(testRuntime(), {
    endSession: () => ({
      location: toClient,
      sessionEnded: true,
      providerLocation: atProvider,
      ...answer,
    }),
    ...behaviours,
  });
type Gateway = ReturnType<typeof open>;

const get = (gateway: Gateway, url: string, cookie = cookies) =>
  gateway.app.inject({ method: 'GET', url, headers: { accept: 'text/html', cookie } });
const post = (gateway: Gateway, fields: Record<string, string>) =>
  gateway.app.inject({
    method: 'POST',
    url: '/logout',
    headers: { cookie: cookies, 'content-type': 'application/x-www-form-urlencoded' },
    payload: new URLSearchParams({
      csrf: antiForgery.token(browserId, purpose.signOut),
      ...fields,
    }).toString(),
  });
const remembered = ({ cookies: set }: Awaited<ReturnType<typeof get>>) =>
  set.find(({ name }) => name === 'tessera_after_provider')?.value ?? '';

describe('a browser that signs out of its provider', () => {
  it('goes there and comes back to where the application wanted it', async () => {
    const gateway = open();
    const left = await get(gateway, '/logout?client_id=web');
    expect([left.statusCode, left.headers.location, left.headers['cache-control']]).toEqual([
      302,
      atProvider,
      'no-store',
    ]);
    expect(gateway.requests('endSession')).toMatchObject([
      {
        providerReturnUri: 'http://localhost/logout/provider',
        providerReturnState: expect.stringMatching(/^[\w-]{22}$/) as string,
      },
    ]);
    const cookie = `${cookies}; tessera_after_provider=${remembered(left)}`;
    const back = await get(gateway, '/logout/provider?state=anything', cookie);
    expect([back.statusCode, back.headers.location]).toEqual([302, toClient]);
    expect(back.cookies).toMatchObject([{ name: 'tessera_after_provider', value: '', maxAge: 0 }]);
  });

  it('ends at a page that says so if it goes nowhere else, or brings nothing of ours (open redirect)', async () => {
    const gateway = open({ location: '' });
    const left = await get(gateway, '/logout');
    const evil = Buffer.from('https://evil.example/').toString('base64url');
    const [proof = ''] = remembered(left).split('.');
    const other = antiForgery.token(`tb_${'b'.repeat(43)}`, purpose.afterProvider('https://evil.example/'));
    for (const value of [remembered(left), '', `${proof}.${evil}`, `${other}.${evil}`, evil]) {
      const back = await get(gateway, '/logout/provider', `${cookies}; tessera_after_provider=${value}`);
      expect([back.statusCode, back.headers.location]).toEqual([302, '/login']);
      expect(back.cookies.find(({ name }) => name === 'tessera_signed_out')?.value).toBe('1');
    }
    const foreign = `tessera_browser=tb_${'b'.repeat(43)}; tessera_after_provider=${remembered(await get(open(), '/logout'))}`;
    expect((await get(gateway, '/logout/provider', foreign)).headers.location).toBe('/login');
  });

  it('ends at that page if where it was going is too long for a cookie', async () => {
    const left = await get(open({ location: `https://app.example/${'x'.repeat(3_000)}` }), '/logout');
    expect([left.headers.location, remembered(left)]).toEqual([atProvider, '']);
  });

  it('goes there from the account page, and never from a page that goes on with something else', async () => {
    const gateway = open();
    const account = await post(gateway, { going: 'account', tenant: 'acme', signs_out: 'provider' });
    expect([account.statusCode, account.headers.location]).toEqual([303, atProvider]);
    const cookie = `${cookies}; tessera_after_provider=${remembered(account)}`;
    expect((await get(gateway, '/logout/provider', cookie)).headers.location).toBe('/account?tenant=acme');
    const staying = open({ providerLocation: '' });
    for (const fields of [
      { going: 'account', tenant: 'acme' },
      { going: 'approvals', tenant: 'acme' },
      { interaction: 'ti_abc' },
    ])
      await post(staying, fields);
    for (const asked of staying.requests('endSession')) expect(asked.providerReturnUri).toBe('');
    expect((await post(gateway, {})).headers.location).toBe(atProvider);
  });
});
