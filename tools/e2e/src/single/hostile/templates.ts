import {
  billingAudience,
  ordersAudience,
  people,
  redirectUri,
  secrets,
} from '../../harness/declared-state.ts';
import { antiForgeryToken, type Person, type Tokens, tokensOf } from '@tessera/test-client';
import { authorizeQuery, codeFor, redeem } from '../../harness/flows.ts';
import { startCiba, startDevice } from '../../harness/out-of-band.ts';
import type { System } from '../../harness/set-up.ts';
import type { Template } from './http-requests.ts';

/** Values that a system has given out, for requests that come close to valid ones. */
export interface Given {
  readonly person: Person;
  readonly tokens: Tokens;
  readonly code: string;
  readonly verifier: string;
  readonly deviceCode: string;
  readonly userCode: string;
  readonly authReqId: string;
  readonly interaction: string;
}

export async function takeValues(system: System): Promise<Given> {
  const { http } = system;
  const person = system.person();
  const tokens = tokensOf(await redeem(http, await codeFor(person)));
  const { code, verifier } = await codeFor(person);
  const { deviceCode, userCode } = await startDevice(http);
  const authReqId = await startCiba(http, { binding_message: 'Fuzz' });
  const pending = await person.get(`/authorize?${authorizeQuery({ prompt: 'login' })}`);
  const location = new URL(pending.header('location') ?? '', system.baseUrl);
  const interaction = location.searchParams.get('interaction') ?? '';
  return { person, tokens, code, verifier, deviceCode, userCode, authReqId, interaction };
}

/** Values worth trying in any place, besides those of the templates. */
export function knownValues(given: Given): string[] {
  const { tokens, code, deviceCode, userCode, authReqId, interaction, person } = given;
  return [
    tokens.accessToken,
    tokens.refreshToken ?? '',
    tokens.idToken ?? '',
    code,
    deviceCode,
    userCode,
    authReqId,
    interaction,
    ...person.cookies.values(),
    'acme-web',
    'acme-spa',
    'globex-web',
    'openid offline_access orders.read',
    ordersAudience,
    billingAudience,
    redirectUri,
    'ada',
    'acme',
  ].filter((value) => value !== '');
}

const web = { client_id: 'acme-web', client_secret: secrets.web };
const contractWeb = { clientId: 'acme-web', clientSecret: secrets.web };

/** A valid request of every endpoint, grant and form. */
export function templatesOf(given: Given): Template[] {
  return [...tokenRequests(given), ...endpointRequests(given), ...pageRequests(given), ...documents];
}

function tokenRequests({ tokens, code, verifier, deviceCode, authReqId }: Given): Template[] {
  const refreshToken = tokens.refreshToken ?? '';
  const at = { method: 'POST', path: '/token' } as const;
  const json = (parameters: Template['parameters']): Template => ({ ...at, in: 'json', parameters });
  const form = (parameters: Template['parameters']): Template => ({ ...at, in: 'form', parameters });
  return [
    json({ ...contractWeb, grantType: 'authorization_code', code, codeVerifier: verifier, redirectUri }),
    json({
      ...contractWeb,
      grantType: 'refresh_token',
      refreshToken,
      scope: 'openid',
      resource: ordersAudience,
    }),
    json({ ...contractWeb, grantType: 'client_credentials', scope: 'orders.read' }),
    json({ clientId: 'acme-tv', grantType: 'device_code', deviceCode }),
    json({ clientId: 'acme-desk', clientSecret: secrets.desk, grantType: 'ciba', authReqId }),
    form({
      ...web,
      grant_type: 'authorization_code',
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    }),
    form({ ...web, grant_type: 'refresh_token', refresh_token: refreshToken }),
    form({ ...web, grant_type: 'client_credentials', scope: 'orders.read', resource: ordersAudience }),
    form({
      client_id: 'acme-tv',
      grant_type: 'urn:ietf:params:oauth:grant-type:device_code',
      device_code: deviceCode,
    }),
    form({
      client_id: 'acme-desk',
      client_secret: secrets.desk,
      grant_type: 'urn:openid:params:grant-type:ciba',
      auth_req_id: authReqId,
    }),
    {
      ...form({ grant_type: 'client_credentials' }),
      headers: { authorization: `Basic ${Buffer.from(`acme-web:${secrets.web}`).toString('base64')}` },
    },
  ];
}

function endpointRequests({ tokens }: Given): Template[] {
  const { accessToken } = tokens;
  const bearer = { authorization: `Bearer ${accessToken}` };
  const audience = { audience: ordersAudience, scope: 'orders.read', tenant: 'acme' };
  const ciba = { login_hint: 'ada', binding_message: 'Order 4711', requested_expiry: '60', scope: 'openid' };
  const desk = { client_id: 'acme-desk', client_secret: secrets.desk };
  const notification = { client_notification_token: 'n'.repeat(40) };
  const pinged = { client_id: 'acme-pinged', client_secret: secrets.pinged };
  const post = { method: 'POST', in: 'form' } as const;
  return [
    { ...post, path: '/introspect', in: 'json', parameters: { token: accessToken } },
    {
      ...post,
      path: '/introspect',
      parameters: { ...web, token: accessToken, token_type_hint: 'access_token' },
    },
    {
      method: 'DELETE',
      path: '/revoke',
      in: 'json',
      parameters: { token: 'tr_unknown', reasonRevoked: 'lost', ipAddress: '1.2.3.4' },
    },
    {
      ...post,
      path: '/revoke',
      parameters: { ...web, token: accessToken, token_type_hint: 'refresh_token' },
    },
    { ...post, path: '/device_authorization', parameters: { client_id: 'acme-tv', scope: 'openid' } },
    { ...post, path: '/backchannel_authentication', parameters: { ...desk, ...ciba } },
    { ...post, path: '/backchannel_authentication', parameters: { ...pinged, ...ciba, ...notification } },
    { ...post, path: '/backchannel_decision', in: 'json', parameters: { decision: 'approve', token: 'a.b' } },
    { ...post, path: '/backchannel_decision', parameters: { decision: 'deny', token: 'a.b' } },
    { method: 'GET', path: '/userinfo', in: 'query', parameters: {}, headers: bearer },
    { ...post, path: '/userinfo', parameters: { access_token: accessToken } },
    { method: 'GET', path: '/auth/verify', in: 'query', parameters: audience, headers: bearer },
  ];
}

function pageRequests({ person, tokens, userCode, interaction }: Given): Template[] {
  const authorization = Object.fromEntries(
    new URLSearchParams(
      authorizeQuery({
        nonce: 'n',
        prompt: 'login',
        max_age: '60',
        login_hint: 'ada',
        id_token_hint: tokens.idToken,
        response_mode: 'form_post',
        claims: '{"userinfo":{"email":null}}',
        resource: ordersAudience,
      }),
    ),
  );
  const cookie = [...person.cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const headers = { accept: 'text/html', cookie };
  const credentials = { identifier: 'ada', password: people.ada.password };
  const wrong = { identifier: 'nobody', password: 'wrong' };
  const csrf = (purpose: string) => ({ csrf: antiForgeryToken(person, purpose) });
  const request = 'AAAAAAAAAAAAAAAAAAAAAA';
  const get = (path: string, parameters: Template['parameters']): Template => ({
    method: 'GET',
    path,
    in: 'query',
    parameters,
    headers,
  });
  const post = (path: string, parameters: Template['parameters']): Template => ({
    method: 'POST',
    path,
    in: 'form',
    parameters,
    headers,
  });
  const logout = {
    client_id: 'acme-web',
    post_logout_redirect_uri: 'http://127.0.0.1:9000/bye',
    state: 's',
    id_token_hint: tokens.idToken ?? '',
  };
  return [
    get('/authorize', authorization),
    post('/authorize', authorization),
    get('/login', { interaction }),
    post('/login', { interaction, ...credentials, ...csrf(`login\0${interaction}`) }),
    get('/device', {
      user_code: userCode,
      proof: antiForgeryToken(person, `device\0${userCode}`),
      tenant: 'acme',
    }),
    post('/device', { user_code: userCode, ...csrf('device') }),
    post('/device', { user_code: userCode, tenant: 'acme', ...wrong, ...csrf(`sign-in\0${userCode}`) }),
    post('/device', { user_code: userCode, request, decision: 'approve', ...csrf(`decide\0${request}`) }),
    get('/approvals', { tenant: 'acme' }),
    post('/approvals', { tenant: 'acme', ...wrong, ...csrf('sign-in\0acme') }),
    post('/approvals', { request, decision: 'deny', ...csrf(`decide\0${request}`) }),
    // Another browser, so that the session lasts.
    { ...get('/logout', logout), headers: { accept: 'text/html' } },
    { ...post('/logout', logout), headers: { accept: 'text/html' } },
  ];
}

const documents: readonly Template[] = [
  '/.well-known/openid-configuration',
  '/.well-known/oauth-authorization-server',
  '/.well-known/jwks.json',
  '/readyz',
  '/assets/none.css',
  '/nothing//here/%2e%2e/',
].map((path) => ({ method: 'GET', path, in: 'query', parameters: { a: 'b' } }));
