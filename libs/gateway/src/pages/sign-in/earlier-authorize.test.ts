import { expect, it } from 'vitest';
import { Code, ConnectError } from '@tessera/rpc';
import { testRuntime } from '@tessera/test-kit';
import { antiForgery } from '../../http/anti-forgery.ts';
import { purpose } from '../form.ts';
import { openGateway, type Behaviours } from '../../testing/fake-services.ts';

/** Compatibility until 0.3: an `authorize` of version 0.1, which has neither Begin nor Continue. */

const browserId = `tb_${'a'.repeat(43)}`;
const html = { accept: 'text/html', cookie: `tessera_browser=${browserId}` };
const form = { ...html, 'content-type': 'application/x-www-form-urlencoded' };
const interaction = {
  interactionId: 'ti_abc',
  tenantId: 'acme',
  applicationName: 'Acme Web',
  loginHint: 'ada@acme',
};
const location = 'https://app/cb?code=tc_1';
const session = { sessionToken: 'ts_new', maxAge: 43_200 };
const right = { identifier: 'ada', password: 'engine' };

const unknown = () => {
  throw new ConnectError('no such method', Code.Unimplemented);
};

const open = (behaviours: Behaviours) =>
  openGateway(testRuntime(), {
    begin: unknown,
    continue: unknown,
    beginAuthorization: () => ({ next: { case: 'interaction', value: interaction } }),
    getInteraction: () => ({ interaction }),
    getSession: () => ({}),
    ...behaviours,
  });

function send(
  gateway: ReturnType<typeof open>,
  fields: Record<string, string>,
  url: '/login' | '/approvals',
) {
  const of = url === '/login' ? purpose.signIn('ti_abc') : purpose.signInTo('acme');
  const hidden = url === '/login' ? { interaction: 'ti_abc' } : { tenant: 'acme' };
  const csrf = antiForgery.token(browserId, of);
  const payload = new URLSearchParams({ ...fields, ...hidden, csrf }).toString();
  return gateway.app.inject({ method: 'POST', url, headers: form, payload });
}

it('begins an authorization request and shows its form', async () => {
  const gateway = open({});
  const begun = await gateway.app.inject({ method: 'GET', url: '/authorize?client_id=web', headers: html });
  expect(begun.statusCode).toBe(302);
  expect(begun.headers.location).toMatch(/^\/login\?interaction=ti_abc&/);
  expect(gateway.requests('beginAuthorization')).toMatchObject([{ parameters: { client_id: 'web' } }]);
  const { body } = await gateway.app.inject({
    method: 'GET',
    url: '/login?interaction=ti_abc',
    headers: html,
  });
  expect(body).toContain('to continue to <strong>Acme Web</strong>');
  expect(body).toContain('name="password"');
  expect(body).toContain('value="ada@acme"');
});

it.each<[string, NonNullable<Behaviours['signIn']>, number, string]>([
  [
    'right credentials',
    () => ({ outcome: { case: 'signedIn', value: { session, redirect: { location } } } }),
    302,
    '',
  ],
  [
    'wrong ones',
    () => ({ outcome: { case: 'wrongCredentials', value: { interaction } } }),
    401,
    'too many attempts',
  ],
  [
    'a session of another tenant',
    () => ({ outcome: { case: 'tenantMismatch', value: { interaction } } }),
    400,
    'name="interaction" value="ti_abc"',
  ],
  ['a refused request', () => ({ outcome: { case: 'redirect', value: { location } } }), 302, ''],
])('continues at /login with %s', async (_what, signIn, status, text) => {
  const gateway = open({ signIn });
  const answer = await send(gateway, right, '/login');
  expect(answer.statusCode).toBe(status);
  expect(answer.body).toContain(text);
  expect(answer.headers.location).toBe(status === 302 ? location : undefined);
  expect(gateway.requests('signIn')).toMatchObject([{ interactionId: 'ti_abc', ...right }]);
});

it.each<[string, NonNullable<Behaviours['signInDirect']>, number, string]>([
  ['right credentials', () => ({ session }), 303, ''],
  ['wrong ones', () => ({}), 401, 'too many attempts'],
  ['a session of another tenant', () => ({ tenantMismatch: true }), 400, 'value="approvals"'],
])('continues at a page of ours with %s', async (_what, signInDirect, status, text) => {
  const gateway = open({ signInDirect });
  const shown = await gateway.app.inject({ method: 'GET', url: '/approvals?tenant=acme', headers: html });
  expect(shown.body).toContain('name="password"');
  const answer = await send(gateway, right, '/approvals');
  expect(answer.statusCode).toBe(status);
  expect(answer.body).toContain(text);
  expect(gateway.requests('signInDirect')).toMatchObject([{ tenantId: 'acme', ...right }]);
});

it.each(['/login', '/approvals'] as const)('tries no password of an incomplete form at %s', async (url) => {
  const gateway = open({});
  const answer = await send(gateway, { ...right, password: '' }, url);
  expect(answer.statusCode).toBe(400);
  expect(answer.body).toContain('Enter both');
});

it('takes an incomplete form of a request that may no longer be served to the client', async () => {
  const gateway = open({ getInteraction: () => ({ redirect: { location } }) });
  const answer = await send(gateway, { ...right, password: '' }, '/login');
  expect([answer.statusCode, answer.headers.location]).toEqual([302, location]);
});
