import { activeClients, basePath, type Client } from '../declared-state.ts';
import { eachOf, send } from '../driver/send.ts';
import type { Target } from '../target.ts';
import { mint, mintedClient, peerResource } from './minted.ts';
import type { HttpRequest, Operation } from './operation.ts';
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
export const clientCredentials: readonly Operation[] = [
  {
    name: 'client-credentials-json',
    inFlight: 32,
    rate: 200,
    async ours(target) {
      const clients = activeClients(target);
      await issueAccessTokens(target, clients.length);
      const requests = clients.map(({ tenant, clientId, clientSecret }) =>
        json(`${basePath(target.population, tenant)}/token`, {
          grantType: 'client_credentials',
          clientId,
          clientSecret,
          scope,
        }),
      );
      return cycle(requests, okWith('"accessToken":"ey'));
    },
    peers,
  },
  {
    name: 'client-credentials-form',
    inFlight: 32,
    rate: 200,
    async ours(target) {
      const clients = activeClients(target);
      await issueAccessTokens(target, clients.length);
      const requests = clients.map((client) => formRequest(client, target));
      return cycle(requests, okWith('"access_token":"ey'));
    },
    peers,
  },
  {
    name: 'client-credentials-es256',
    inFlight: 32,
    rate: 200,
    async ours(target) {
      const clients = activeClients(target);
      await issueAccessTokens(target, clients.length, es256Scope);
      const requests = clients.map((client) => formRequest(client, target, es256Scope));
      return cycle(requests, okWith('"access_token":"ey'));
    },
  },
];
