import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { applicationObject, authorizationQuery, HttpClient, newPkce, Person } from '@tessera/test-client';
import { host } from '../declared-state.ts';
import { check } from '../scenario.ts';
import { becomes, remove } from './application.ts';
import { answersSince, describeAnswers, type Client } from './client.ts';
import type { Installation } from './installation.ts';

const redirectUri = 'https://app.example.com/callback';
const headers = { host };
/** Processes hear of a change within a second. */
const noticeMs = 1_000;
const watchedMs = 5_000;

/** New access tokens and refresh tokens end with the object; access tokens are JWTs, and live on until they expire. */
export async function endsWithItsObject(installed: Installation, orders: Client): Promise<string> {
  const { shop, own, release } = installed;
  const site = applicationObject('site', {
    type: 'public',
    grantTypes: ['authorization_code', 'refresh_token'],
    redirectUris: [redirectUri],
    scopes: ['openid', 'offline_access', 'goods.read'],
    trusts: undefined,
  });
  await shop.apply([site]);
  await becomes(shop, 'site', 'True Written');
  const forwarding = own.start(['port-forward', `service/${release.front}`, ':80']);
  try {
    const http = new HttpClient(await forwarded(forwarding.stdout ?? process.stdin));
    const clientId = `${shop.name}.site`;
    const first = await signIn(http, clientId, installed.password);
    const second = await refresh(http, clientId, first);
    check(second.status === 200, `a refresh token is refused before its object is deleted: ${second.text}`);
    await remove(shop, 'site');
    const refused = await refresh(http, clientId, String(second.json()['refresh_token']));
    check(refused.status === 401 || refused.status === 400, `a refresh token lives on: ${refused.status}`);

    const started = performance.now();
    await remove(shop, orders.name);
    const deleted = Math.round(performance.now() - started);
    await sleep(noticeMs);
    const before = await orders.answers();
    await sleep(watchedMs);
    const since = await answersSince(orders, before);
    check(Object.keys(since).join() === '401', `new tokens after the deletion: ${describeAnswers(since)}`);
    http.close();
    return `deleted in ${deleted} ms: refresh ${refused.status}, new tokens ${describeAnswers(since)}`;
  } finally {
    forwarding.kill();
  }
}

/** Resolves with the address of a port of this machine, once it is forwarded. */
async function forwarded(output: NodeJS.ReadableStream): Promise<() => string> {
  for await (const line of createInterface({ input: output })) {
    const port = /127\.0\.0\.1:(\d+)/.exec(line)?.[1];
    if (port !== undefined) return () => `http://127.0.0.1:${port}`;
  }
  throw new Error('no port is forwarded');
}

/** Resolves with a refresh token. */
async function signIn(http: HttpClient, clientId: string, password: string): Promise<string> {
  const person = new Person(http, { tenant: 'acme', username: 'ada', password }, headers);
  const { verifier, challenge } = newPkce();
  const query = authorizationQuery({
    client_id: clientId,
    redirect_uri: redirectUri,
    scope: 'openid offline_access goods.read',
    code_challenge: challenge,
  });
  const answer = await person.authorize(query, person.login);
  const code = new URL(answer.header('location') ?? '', redirectUri).searchParams.get('code');
  check(code !== null, `no code: ${answer.status} ${answer.header('location') ?? ''}`);
  const tokens = await http.ask('POST', '/token', {
    headers,
    form: {
      grant_type: 'authorization_code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code: code ?? '',
      code_verifier: verifier,
    },
  });
  check(tokens.status === 200, `no tokens: ${tokens.status}`);
  return String(tokens.json()['refresh_token']);
}

const refresh = (http: HttpClient, clientId: string, token: string) =>
  http.ask('POST', '/token', {
    headers,
    form: { grant_type: 'refresh_token', client_id: clientId, refresh_token: token },
  });
