import { claimsOf } from '@tessera/test-client';
import { activeClients, basePath, clientOf, workloadToken, type Client } from '../declared-state.ts';
import type { Target } from '../target.ts';
import type { HttpLoad, HttpRequest } from './operation.ts';
import { issuePersonalTokens } from './people.ts';
import { clientForm, cycle, form, isOk, json, member, okWith, turns } from './requests.ts';
import { send, times } from './send.ts';

export const ordersScope = 'orders.read';
/** Of the resource whose access tokens are signed with ES256. */
export const es256Scope = 'parcels.read';

/** Tokens that are refreshed in turn. */
const refreshChains = 500;
/** Enough devices that none polls twice within its interval of a second, at up to thirty thousand polls a second. */
const devices = 30_000;
const deviceGrant = 'urn:ietf:params:oauth:grant-type:device_code';

const tokenPath = ({ population }: Target, { tenant }: Client): string =>
  `${basePath(population, tenant)}/token`;

const clientCredentialsForm = (target: Target, client: Client, scope: string): HttpRequest =>
  clientForm(tokenPath(target, client), client, { grant_type: 'client_credentials', scope });

/** `count` different access tokens of the active applications. */
export async function issueAccessTokens(
  target: Target,
  count: number,
  scope = ordersScope,
): Promise<string[]> {
  const next = turns(activeClients(target));
  return times(count, async () =>
    member(await send(target, clientCredentialsForm(target, next(), scope)), 'access_token'),
  );
}

/** Token requests of all applications that take part, in turn; each has sent one before. */
export async function clientCredentials(target: Target, scope = ordersScope): Promise<HttpLoad> {
  const clients = activeClients(target);
  await issueAccessTokens(target, clients.length, scope);
  return cycle(
    clients.map((client) => clientCredentialsForm(target, client, scope)),
    okWith('"access_token":"ey'),
  );
}

/**
 * The same without a secret, by tokens of an issuer that the applications trust: those of one tenant, as the others are
 * copies of its records.
 */
export async function federatedClientCredentials(target: Target): Promise<HttpLoad> {
  const clients = activeClients(target).filter(({ tenant }) => tenant === 0);
  const requests = clients.map((client) =>
    form(tokenPath(target, client), {
      grant_type: 'client_credentials',
      scope: ordersScope,
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: workloadToken(target.seed, client, target.baseUrl),
    }),
  );
  for (const request of requests) member(await send(target, request), 'access_token');
  return cycle(requests, okWith('"access_token":"ey'));
}

/** The same in the contract's dialect, which the peer does not have. */
export async function contractClientCredentials(target: Target): Promise<HttpLoad> {
  if (target.kind === 'peer') return clientCredentials(target);
  const clients = activeClients(target);
  await issueAccessTokens(target, clients.length);
  const requests = clients.map((client) => {
    const { clientId, clientSecret } = client;
    const body = { grantType: 'client_credentials', clientId, clientSecret, scope: ordersScope };
    return json(tokenPath(target, client), body);
  });
  return cycle(requests, okWith('"accessToken":"ey'));
}

/**
 * Refreshes one token after another: each response yields the next request. A scope without `openid` narrows it (RFC
 * 6749 §6).
 */
export async function refreshes(target: Target, scope?: string): Promise<HttpLoad> {
  const tokens = await issuePersonalTokens(target, refreshChains);
  const clients = new Map(tokens.map(({ client }) => [client.clientId, client]));
  const refresh = (client: Client, token: string): HttpRequest =>
    clientForm('/token', client, {
      grant_type: 'refresh_token',
      refresh_token: token,
      ...(scope !== undefined && { scope }),
    });
  const waiting = tokens.map(({ client, refreshToken }) => refresh(client, refreshToken));
  return {
    kind: 'http',
    next() {
      const request = waiting.shift();
      if (request === undefined) throw new Error('every refresh token is under way');
      return request;
    },
    accept(answer) {
      if (!isOk(answer)) return false;
      const clientId = claimsOf(member(answer, 'access_token'))['client_id'];
      const client = clients.get(String(clientId));
      if (client === undefined) throw new Error('the token is of another client');
      waiting.push(refresh(client, member(answer, 'refresh_token')));
      return true;
    },
  };
}

const poll = (client: Client, deviceCode: string): HttpRequest =>
  clientForm('/token', client, { grant_type: deviceGrant, device_code: deviceCode });

const polls = (requests: readonly HttpRequest[]): HttpLoad =>
  cycle(requests, ({ status, text }) => status === 400 && text.includes('"authorization_pending"'));

/** Polls of devices that nobody has approved. */
export async function devicePolls(target: Target): Promise<HttpLoad> {
  const next = turns(activeClients(target));
  return polls(
    await times(devices, async () => {
      const client = next();
      const start = clientForm('/device_authorization', client, {
        client_id: client.clientId,
        scope: 'openid',
      });
      return poll(client, member(await send(target, start), 'device_code'));
    }),
  );
}

export const barePolls = async ({ seed }: Target): Promise<HttpLoad> =>
  polls([poll(clientOf(seed, 0, 0), `td_${'x'.repeat(43)}`)]);
