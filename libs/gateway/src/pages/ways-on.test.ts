import { Code, ConnectError } from '@connectrpc/connect';
import { endpointPaths, OAuthError, otherPaths, temporarilyUnavailable } from '@tessera/oauth';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { antiForgery } from '@tessera/pages';
import { purpose } from './form.ts';
import { routes } from '../routes.ts';
import { browserId, cookie, openForAda } from '../testing/ada-browser.ts';
import type { Behaviours } from '../testing/fake-services.ts';

/** What addresses and forms of pages may have; each takes its own. */
const given = {
  interaction: 'ti_abc',
  tenant: 'acme',
  link: 'tl_x',
  email: 'ada@acme.example',
  identifier: 'ada',
  user_code: 'ABCD-EFGH',
  request: 'r1',
  decision: 'approve',
  change: 'change_name',
  target: '',
};

const purposes: Readonly<Record<string, string>> = {
  [otherPaths.login]: purpose.signIn('ti_abc'),
  [endpointPaths.endSession]: purpose.signOut,
  [otherPaths.device]: purpose.enterCode,
  [otherPaths.approvals]: purpose.decide('r1'),
  [otherPaths.account]: purpose.changeAccount('u1', 'change_name', ''),
  [otherPaths.accountProfile]: purpose.changeAccount('u1', 'change_name', ''),
  [otherPaths.password]: purpose.changePassword('u1'),
  [otherPaths.registration]: purpose.register('acme', 'ti_abc'),
  [otherPaths.forgottenPassword]: purpose.forgottenPassword('acme'),
  [otherPaths.passwordLink]: purpose.usePasswordLink('tl_x'),
  [otherPaths.emailLink]: purpose.confirmEmail('u1', 'tl_x'),
};

const pages = routes.filter(({ kind }) => kind === 'page');
const csrfOf = (path: string) => antiForgery.token(browserId, purposes[path] ?? '');

/** What comes in: of an address or a form, and the cookies. */
const contexts: readonly (readonly [
  string,
  (path: string) => { readonly fields: Record<string, string>; readonly cookie?: string },
])[] = [
  ['nothing', () => ({ fields: {} })],
  ['nothing, with a session', () => ({ fields: {}, cookie })],
  ['a form of this browser', (path) => ({ fields: { ...given, csrf: csrfOf(path) }, cookie })],
  ['a form of another browser', (path) => ({ fields: { ...given, csrf: csrfOf(path) } })],
  ['a form that was changed', () => ({ fields: { ...given, csrf: 'x' }, cookie })],
  ['a password', (path) => ({ fields: { ...given, password: 'x', csrf: csrfOf(path) }, cookie })],
  [
    'a password with a form of the page of an organization',
    () => ({
      fields: { ...given, password: 'x', csrf: antiForgery.token(browserId, purpose.signInTo('acme')) },
      cookie,
    }),
  ],
  [
    'an organization that does not exist',
    (path) => ({ fields: { ...given, tenant: 'nosuch', csrf: csrfOf(path) } }),
  ],
  ['no organization’s name', () => ({ fields: { ...given, tenant: 'No such!' } })],
];

const failing = (thrown: () => Error) => () => {
  throw thrown();
};
/** All that a page asks fails like this. */
const each = (fail: () => never): Behaviours => ({
  begin: fail,
  continue: fail,
  getInteraction: fail,
  answerFromProvider: fail,
  getAccount: fail,
  changeName: fail,
  changePassword: fail,
  endSession: fail,
  getApplication: fail,
  getTenantLooks: fail,
  requestRegistration: fail,
  requestPasswordReset: fail,
  getPasswordLink: fail,
  redeemPasswordLink: fail,
  getEmailLink: fail,
  confirmEmail: fail,
  getDeviceAuthorization: fail,
  decideDeviceAuthorization: fail,
  decideBackchannelAuthentication: fail,
  listBackchannelAuthentications: fail,
});
const signedOut = { getSession: () => ({}) };
const expired = failing(
  () => new OAuthError('invalid_request', 'The authorization context is invalid or has expired.'),
);

const worlds: readonly (readonly [string, Behaviours])[] = [
  ['everything is as it was', {}],
  ['nothing is pending any more', each(expired)],
  ['the session is over, and nothing is pending any more', { ...each(expired), ...signedOut }],
  ['nothing is known', { ...each(failing(() => new ConnectError('unknown', Code.NotFound))), ...signedOut }],
  [
    'the services are unavailable',
    {
      ...each(failing(() => temporarilyUnavailable('down'))),
      getSession: failing(() => temporarilyUnavailable('down')),
    },
  ],
  [
    'there were too many attempts',
    each(
      failing(
        () =>
          new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds: 60 }),
      ),
    ),
  ],
  ['a handler has a defect', each(failing(() => new TypeError('a defect')))],
];

/** Links and buttons of a page that lead on, without those of the footer. */
function waysOn(html: string): string[] {
  const main = html.replace(/^[^]*<main>/, '').replace(/<footer>[^]*/, '');
  const links = [...main.matchAll(/<a [^>]*href="([^"]*)"[^>]*>\s*[^<\s]/g)].map(([, href = '']) => href);
  const forms = [...main.matchAll(/<form (?![^>]*\bhidden\b)[^>]*action="([^"]+)"[^]*?<\/form>/g)]
    .filter(([form]) => /<button[^>]*type="submit"/.test(form))
    .map(([, action = '']) => action);
  return [...links, ...forms];
}

describe.each(worlds)('while %s', (_world, behaviours) => {
  let gateway: ReturnType<typeof openForAda>;
  beforeAll(() => {
    gateway = openForAda(behaviours, { TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '10000' });
  });
  afterAll(() => gateway.close());

  describe.each(contexts)('a page that gets %s', (_context, of) => {
    it.each(pages.map(({ method, path }) => [`${method} ${path}`, { method, path }] as const))(
      '%s has a way on',
      async (_name, { method, path }) => {
        const { fields, cookie: sent } = of(path);
        const form = new URLSearchParams(fields).toString();
        const url = path.replace(':tenant', 'acme').replace(':provider', 'corp');
        const answer = await gateway.app.inject({
          method,
          url: method === 'GET' ? `${url}?${form}` : url,
          headers: {
            accept: 'text/html',
            ...(sent !== undefined && { cookie: sent }),
            ...(method === 'POST' && { 'content-type': 'application/x-www-form-urlencoded' }),
          },
          ...(method === 'POST' && { payload: form }),
        });
        if (answer.statusCode === 302 || answer.statusCode === 303) {
          expect(answer.headers.location).toMatch(/^(\/|https?:)/);
          return;
        }
        expect(answer.headers['content-type']).toMatch(/^text\/html/);
        expect(waysOn(answer.body), answer.body).not.toEqual([]);
      },
    );
  });
});

it('would miss a page that ends nowhere, with a form that nobody sees or a link without a text (canary)', () => {
  expect(waysOn('<main><p>The end.</p><footer><a href="/tos">Terms</a></footer></main>')).toEqual([]);
  expect(waysOn('<main><form hidden action="/x"><button type="submit">x</button></form></main>')).toEqual([]);
  expect(waysOn('<main><a href="/x"></a><form action="/y"></form></main>')).toEqual([]);
  expect(waysOn('<main><a href="/x">On</a></main>')).toEqual(['/x']);
});

it('would miss a path that exists under another method, or none (canary)', async () => {
  const gateway = openForAda({});
  for (const url of ['/nothing', '/account/nothing']) {
    const { statusCode, body } = await gateway.app.inject({
      method: 'GET',
      url,
      headers: { accept: 'text/html' },
    });
    expect([statusCode, waysOn(body)]).toEqual([404, ['/account']]);
  }
});
