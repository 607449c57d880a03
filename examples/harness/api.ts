import { once } from 'node:events';
import { createServer } from 'node:http';
import { expect } from './expect.ts';

const names = ['X-Auth-Subject', 'X-Auth-Client-Id', 'X-Auth-Tenant-Id', 'X-Auth-Scope', 'X-Auth-Roles'];

/** The API behind the proxies: it answers with the headers of the request. */
export async function startApi() {
  const server = createServer((request, response) => response.end(JSON.stringify(request.headers)));
  server.listen(8081, '127.0.0.1');
  await once(server, 'listening');
  return {
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/**
 * Asks an API as callers do. With `identity`, it answers with the headers that reached it: none that the caller sent.
 * Throws when it does not do what an API must.
 */
export async function callApi(
  url: string,
  token: string,
  clientId: string,
  identity: 'dashes' | 'aliases' | undefined,
): Promise<string> {
  expect((await fetch(url)).status === 401, 'answers 401 without a token');
  const wrong = `${token.slice(0, -8)}AAAAAAAA`;
  expect((await ask(url, wrong)).status === 401, 'answers 401 to a wrong token');
  const aliases = identity === 'aliases' ? [] : names.map((name) => name.replaceAll('-', '_'));
  const forged = Object.fromEntries([...names, ...aliases].map((name) => [name, 'forged']));
  const answer = await ask(url, token, identity === undefined ? {} : forged);
  const text = await answer.text();
  expect(answer.status === 200, `answers 200 to a good token: ${answer.status} ${text.slice(0, 500)}`);
  if (identity === undefined) return 'accepts tokens';
  expect(!text.includes('forged'), `no header of the caller reaches the API: ${text}`);
  const { 'x-auth-client-id': caller } = JSON.parse(text) as Record<string, string>;
  expect(caller === clientId, `the API is told who calls: ${text}`);
  return 'accepts tokens, replaces headers';
}

function ask(url: string, token: string, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, { headers: { ...headers, authorization: `Bearer ${token}` } });
}
