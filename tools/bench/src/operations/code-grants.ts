import type { Client } from '../declared-state.ts';
import { mint, mintedClient } from './minted.ts';
import { warmUpOf } from './operation.ts';
import type { HttpAnswer, HttpLoad, HttpRequest, Operation, Operations } from './operation.ts';
import { basicOf, codeExchange, issueCodes, issuePersonalTokens } from './people.ts';
import { form, member, once } from './requests.ts';

/** Exchanges per second for which codes are prepared. */
const exchangesPerSecond = 800;
/** Tokens that are refreshed in turn. */
const refreshChains = 500;

function codesFor(duration: number): { limit: number; codes: number } {
  const limit = duration * exchangesPerSecond;
  return { limit, codes: Math.ceil(limit + warmUpOf(limit) + 100) };
}

const hasAllTokens = ({ status, text }: HttpAnswer): boolean =>
  status === 200 && text.includes('"id_token":"ey') && text.includes('"refresh_token":"');

/** Refreshes one token after another: each response yields the next request. */
function chain(first: readonly HttpRequest[], follow: (answer: HttpAnswer) => HttpRequest): HttpLoad {
  const waiting = [...first];
  return {
    kind: 'http',
    next() {
      const request = waiting.shift();
      if (request === undefined) throw new Error('every refresh token is under way');
      return request;
    },
    accept(answer) {
      if (answer.status !== 200) return false;
      waiting.push(follow(answer));
      return true;
    },
  };
}

/** The token request of a refresh; a scope without `openid` narrows it to one signed token (RFC 6749 §6). */
type Refresh = (client: Client, refreshToken: string) => HttpRequest;

const refreshWith =
  (parameters: Readonly<Record<string, string>>): Refresh =>
  (client, refreshToken) =>
    form(
      '/token',
      { grant_type: 'refresh_token', refresh_token: refreshToken, ...parameters },
      basicOf(client),
    );

/** The client that an access token was issued to (RFC 9068 §2.2). */
function clientOfToken(accessToken: string): string {
  const payload = Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString('utf8');
  return String((JSON.parse(payload) as Record<string, unknown>)['client_id']);
}

function refresh(request: Refresh): Operation {
  return {
    async ours(target) {
      const tokens = await issuePersonalTokens(target, refreshChains);
      const clients = new Map(tokens.map(({ client }) => [client.clientId, client]));
      return chain(
        tokens.map(({ client, refreshToken }) => request(client, refreshToken)),
        (answer) => {
          const client = clients.get(clientOfToken(member(answer, 'access_token')));
          if (client === undefined) throw new Error('the token is of another client');
          return request(client, member(answer, 'refresh_token'));
        },
      );
    },
    async peers(target) {
      const tokens = await mint(target, 'refresh-tokens', refreshChains);
      return chain(
        tokens.map(({ value }) => request(mintedClient, value)),
        (answer) => request(mintedClient, member(answer, 'refresh_token')),
      );
    },
  };
}

export const codeGrants = {
  'code-exchange': {
    async ours(target, duration) {
      const { limit, codes } = codesFor(duration);
      const requests = (await issueCodes(target, codes)).map(codeExchange);
      return { kind: 'http', limit, next: once(requests), accept: hasAllTokens };
    },
    async peers(target, duration) {
      const { limit, codes } = codesFor(duration);
      const requests = (await mint(target, 'codes', codes)).map(({ value, verifier = '' }) =>
        codeExchange({ client: mintedClient, code: value, verifier }),
      );
      return { kind: 'http', limit, next: once(requests), accept: hasAllTokens };
    },
  },
  refresh: refresh(refreshWith({ scope: 'offline_access orders.read' })),
  'refresh-openid': refresh(refreshWith({})),
} satisfies Operations;
