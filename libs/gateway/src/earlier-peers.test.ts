import { Code, ConnectError } from '@connectrpc/connect';
import { endpointPaths, otherPaths } from '@tessera/oauth';
import { describe, expect, it } from 'vitest';
import { antiForgery } from '@tessera/pages';
import { purpose } from './pages/form.ts';
import { routes } from './routes.ts';
import { browserId, cookie, openForAda, session } from './testing/ada-browser.ts';
import { everyMethod, type Behaviours } from './testing/fake-services.ts';

/** What requests and forms may have; each route takes its own. */
const parameters = {
  client_id: 'web',
  clientId: 'web',
  client_secret: 'a-secret-0123456789-0123456789-abcdef',
  grant_type: 'client_credentials',
  grantType: 'client_credentials',
  token: 'tr_x',
  scope: 'openid',
  response_type: 'code',
  redirect_uri: 'https://app.example/cb',
  login_hint: 'ada',
  logout_token: 'x',
  auth_req_id: 'x',
  request: 'r1',
  decision: 'approve',
  tenant: 'acme',
  link: 'tl_x',
  interaction: 'ti_abc',
  identifier: 'ada',
  password: 'a long password',
  present: 'a long password',
  user_code: 'ABCD-EFGH',
  email: 'ada@acme.example',
};

/** The purpose of the form that each path takes. */
const purposes: Readonly<Record<string, string>> = {
  [otherPaths.login]: purpose.signIn('ti_abc'),
  [endpointPaths.endSession]: purpose.signOut,
  [otherPaths.device]: purpose.enterCode,
  [otherPaths.approvals]: purpose.decide('r1'),
  [otherPaths.password]: purpose.changePassword('u1'),
  [otherPaths.registration]: purpose.register('acme', 'ti_abc'),
  [otherPaths.forgottenPassword]: purpose.forgottenPassword('acme'),
  [otherPaths.passwordLink]: purpose.usePasswordLink('tl_x'),
  [otherPaths.emailLink]: purpose.confirmEmail('u1', 'tl_x'),
};

const requests = routes.flatMap(({ method, path, kind }) => {
  const url = path.replace(':tenant', 'acme').replace(':provider', 'corp');
  const csrf = antiForgery.token(browserId, purposes[path] ?? '');
  const form = new URLSearchParams({ ...parameters, csrf }).toString();
  const type = 'application/x-www-form-urlencoded';
  const page = kind === 'page';
  const sent = {
    url: method === 'GET' ? `${url}?${form}` : url,
    headers: {
      cookie,
      ...(page && { accept: 'text/html' }),
      ...(path === endpointPaths.userinfo && { authorization: 'Bearer x' }),
      ...(method !== 'GET' && { 'content-type': type }),
    },
    ...(method !== 'GET' && { payload: form }),
  };
  return [[`${method} ${path}`, { method, ...sent }] as const];
});

/** The contract has discovery answer 500 while the keys cannot be resolved. */
const byContract = `GET ${endpointPaths.openidConfiguration}`;

const signedIn = { getSession: () => ({ session }) };
const refuse = (code: Code) => () => {
  throw new ConnectError('another version', code);
};
const unknown = refuse(Code.Unimplemented);
const nothing = everyMethod(unknown);
const { getPublicKeys: _keys, listTenantIssuers: _issuers, watchChanges: _changes, ...most } = nothing;
const { getDeliveryModes: _modes, ...others } = most;

describe.each<[string, Behaviours]>([
  ['know none of the methods', nothing],
  ['know only the session', { ...nothing, ...signedIn }],
  [
    'answer with what this version does not know',
    { ...others, ...signedIn, begin: () => ({}), continue: () => ({}) },
  ],
  [
    'do not take the message',
    { ...others, ...signedIn, begin: refuse(Code.InvalidArgument), continue: refuse(Code.InvalidArgument) },
  ],
  [
    'do not admit this caller',
    { ...others, ...signedIn, begin: refuse(Code.PermissionDenied), continue: refuse(Code.PermissionDenied) },
  ],
])('while the services behind it %s', (_what, behaviours) => {
  it.each(requests)('%s is never answered with 500 but where the contract says so', async (name, request) => {
    const gateway = openForAda(behaviours);
    const { statusCode, headers } = await gateway.app.inject(request);
    if (name !== byContract) expect(statusCode).not.toBe(500);
    if (statusCode === 503) expect(headers['retry-after']).toBe('1');
    await gateway.close();
  });
});
