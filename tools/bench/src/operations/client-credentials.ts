import { activeClients, basePath, type Client } from '../declared-state.ts';
import { eachOf, send } from '../driver/send.ts';
import type { Target } from '../target.ts';
import { mint, mintedClient, peerResource } from './minted.ts';
import type { HttpRequest, Operations } from './operation.ts';
import { basicOf } from './people.ts';
import { cycle, form, json, member, okWith } from './requests.ts';

const scope = 'orders.read';
/** Of the resource whose access tokens are signed with ES256. */
export const es256Scope = 'parcels.read';

const formRequest = (client: Client, { population }: Target, asked = scope): HttpRequest =>
  form(
    `${basePath(population, client.tenant)}/token`,
    { grant_type: 'client_credentials', scope: asked },
    basicOf(client),
  );

const peerRequest = (): HttpRequest =>
  form('/token', { grant_type: 'client_credentials', scope, resource: peerResource }, basicOf(mintedClient));

/** `count` different access tokens of the active applications. */
export async function issueAccessTokens(target: Target, count: number, asked = scope): Promise<string[]> {
  const clients = activeClients(target);
  const requests = Array.from({ length: count }, (_, index) => clients[index % clients.length] as Client);
  return eachOf(
    requests,
    async (client) => member(await send(target.baseUrl, formRequest(client, target, asked)), 'access_token'),
    4,
  );
}

const peers = async (target: Target) => {
  await mint(target, 'ready', 1);
  return cycle([peerRequest()], okWith('"access_token":"ey'));
};

/** A thousand applications of a hundred tenants send requests in turn; each has sent one before. */
const byAll = async (target: Target, asked: string, request: (client: Client) => HttpRequest) => {
  const clients = activeClients(target);
  await issueAccessTokens(target, clients.length, asked);
  return cycle(
    clients.map(request),
    ({ status, text }) => status === 200 && /"access_?[tT]oken":"ey/.test(text),
  );
};

export const clientCredentials = {
  'client-credentials-json': {
    ours: (target) =>
      byAll(target, scope, ({ tenant, clientId, clientSecret }) =>
        json(`${basePath(target.population, tenant)}/token`, {
          grantType: 'client_credentials',
          clientId,
          clientSecret,
          scope,
        }),
      ),
    peers,
  },
  'client-credentials-form': {
    ours: (target) => byAll(target, scope, (client) => formRequest(client, target)),
    peers,
  },
  'client-credentials-es256': {
    ours: (target) => byAll(target, es256Scope, (client) => formRequest(client, target, es256Scope)),
  },
} satisfies Operations;
