import { declaredFiles } from '@tessera/directory/testing';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { codeChallenge, OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import { loadConfig } from '@tessera/process';
import { rootCall } from '@tessera/rpc';
import {
  atEndOfFile,
  counting,
  eventually,
  fakeClock,
  testDatabase,
  testRedis,
  testRuntime,
} from '@tessera/test-kit';
import { parseForms } from '@tessera/test-kit/provision';
import { beforeAll, expect, it } from 'vitest';
import { allMigrations, compose, type Composition } from './compose.ts';
import { standaloneConfig, withSecrets } from './config.ts';

const issuer = 'http://localhost:8080';
const password = 'a passphrase of ada';
const verifier = 'v'.repeat(43);
const client = { clientId: 'acme-web', redirectUri: 'http://localhost:9000/callback' };

const state = `tenants:
  - id: acme
    name: Acme
    users: [{ username: ada, password: ${password} }]
    applications:
      - { clientId: ${client.clientId}, name: Web, type: public, grantTypes: [authorization_code], redirectUris: ['${client.redirectUri}'], scopes: [openid] }
`;

/**
 * What the stores are asked by themselves, whether somebody signs in or not: feeds are read, and audit rows are written
 * together.
 */
const besides =
  /feed|change|audit|purge|clock|revocation|session_end|due|signing_key|heartbeat|logout_notices|note_sign_ins/;

const stores = {
  database: counting(await testDatabase(...allMigrations)),
  redis: counting(await testRedis()),
};

let app: Composition['gateway']['app'];
beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-sign-in-cost-'));
  const environment = { TESSERA_DATA_DIR: directory, TESSERA_ISSUER: issuer };
  const config = loadConfig(standaloneConfig, await withSecrets(environment));
  // It stands still, as records are cached for a second, and on a busy machine a sign-in takes longer.
  const clock = fakeClock(Date.now());
  const { services, declaredState, gateway } = compose(config, () => testRuntime({ ...stores, clock }), {});
  atEndOfFile(async () => {
    for (const service of services.toReversed()) await service.close();
    await rm(directory, { recursive: true });
  });
  const document = { document: state, fileName: 'state.yaml' };
  await patiently(() => declaredFiles(declaredState).apply(document, rootCall('a-request', 60_000)));
  for (const service of services)
    await eventually(`${service.name} is ready`, () => service.ready().then(() => true));
  app = gateway.app;
});

/** Does it again where a busy machine has no time for it. */
async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await work();
    } catch (error) {
      const isBusy = error instanceof OAuthError && error.code === 'temporarily_unavailable';
      if (!isBusy || attempt === 20) throw error;
    }
  }
}

type Browser = Map<string, string>;

async function ask(browser: Browser, method: 'GET' | 'POST', url: string, form?: URLSearchParams) {
  const cookie = [...browser].map(([name, value]) => `${name}=${value}`).join('; ');
  const answer = await app.inject({
    method,
    url,
    headers: {
      host: new URL(issuer).host,
      accept: 'text/html',
      cookie,
      ...(form && { 'content-type': 'application/x-www-form-urlencoded', origin: issuer }),
    },
    ...(form && { payload: form.toString() }),
  });
  if (answer.statusCode === 503) throw temporarilyUnavailable(new Error(answer.body));
  for (const { name, value } of answer.cookies) browser.set(name, value);
  return answer;
}

/** Signs in with a browser, from the authorization request to the tokens; the browser keeps what it was given. */
async function signIn(browser: Browser): Promise<void> {
  const request = new URLSearchParams({
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    response_type: 'code',
    scope: 'openid',
    state: 'a-state',
    code_challenge: codeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const begun = await ask(browser, 'GET', `/authorize?${request.toString()}`);
  const page = new URL(begun.headers.location ?? '', issuer);
  const shown = await ask(browser, 'GET', `${page.pathname}${page.search}`);
  const [form] = parseForms(shown.body, page);
  if (form === undefined) throw new Error(`no form: ${shown.statusCode}`);
  const fields = new URLSearchParams([...form.fields]);
  fields.set('identifier', 'ada');
  fields.set('password', password);
  const answer = await ask(browser, 'POST', form.action.pathname, fields);
  const code = new URL(answer.headers.location ?? '', issuer).searchParams.get('code') ?? '';
  const exchange = new URLSearchParams({
    grant_type: 'authorization_code',
    client_id: client.clientId,
    redirect_uri: client.redirectUri,
    code,
    code_verifier: verifier,
  });
  expect((await ask(new Map(), 'POST', '/token', exchange)).statusCode).toBe(200);
}

/**
 * What a sign-in asks of the stores once the records are cached: names of statements, scripts and commands, in order.
 */
async function cost(browser: Browser) {
  for (const store of Object.values(stores)) store.reset();
  await signIn(browser);
  return {
    redis: stores.redis.names,
    postgres: stores.database.names.filter((name) => !besides.test(name)),
  };
}

const redis = [
  'limit.count',
  'authorize.save_visit',
  'GET',
  'GET',
  'limit.count',
  'limit.count',
  'limit.end',
  'authorize.save_code',
  'authorize.redeem_code',
];
const lookedUp = 'directory.find_user_by_identifier';
const judged = [
  'directory.find_for_password',
  'directory.confirm_sign_in',
  'authorize.open_session',
  'token.redeem',
];

it('a sign-in by password and its exchange ask this of the stores and no more, in a new browser and in a known one', async () => {
  await patiently(() => signIn(new Map()));
  const browser: Browser = new Map();
  expect(await patiently(() => cost(browser))).toEqual({ redis, postgres: [lookedUp, ...judged] });
  browser.delete('tessera_session');
  const postgres = [lookedUp, 'authorize.find_known_browser', ...judged];
  expect(await patiently(() => cost(browser))).toEqual({ redis, postgres });
});
