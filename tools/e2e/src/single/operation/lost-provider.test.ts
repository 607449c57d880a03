import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { eventually, freePort } from '@tessera/test-kit/provision';
import {
  HttpClient,
  introspect,
  newPkce,
  Person,
  planProcess,
  timesApplied,
  tokensOf,
  type ServerProcess,
} from '@tessera/test-client';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { people, providerClient, redirectUri } from '../../harness/declared-state.ts';
import { authorizeQuery, codeFor, redeem, refresh, type Code } from '../../harness/flows.ts';
import { signInAtProvider, startOpenIdProvider, type OpenIdProvider } from '../../harness/openid-provider.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';
import { PatientProcess } from '../../harness/patient-process.ts';

const clientId = 'acme-web';
/** Who sign in with the provider. */
const count = 12;

let system: System;
let provider: OpenIdProvider;
let second: ServerProcess;
/** The two replicas. */
let replicas: readonly HttpClient[];

beforeAll(async () => {
  const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: redisUrl() };
  const environment = {
    TESSERA_ALLOW_PRIVATE: 'providers',
    TESSERA_APPLY_ALLOW: 'administration,delete',
    TESSERA_LOGIN_FAILURES_PER_ADDRESS: '1000',
  };
  system = await startSystem(setUps.compact, { stores, environment });
  const { TESSERA_APPLY_FILE: _, ...shared } = system.environmentOf('standalone');
  const ports = { TESSERA_HTTP_PORT: String(await freePort()), TESSERA_ADMIN_PORT: String(await freePort()) };
  const planned = await planProcess('standalone', { ...shared, ...ports });
  second = new PatientProcess('second', planned.entry);
  second.start(planned.environment);
  await second.ready(planned.readyUrl);
  replicas = [system.http, new HttpClient(() => `http://127.0.0.1:${ports.TESSERA_HTTP_PORT}`)];
  const place = `${system.baseUrl}/login/provider/acme/corp`;
  provider = await startOpenIdProvider(
    await freePort(),
    {
      ...providerClient,
      redirectUris: [place],
      postLogoutRedirectUri: `${system.baseUrl}/logout/provider`,
      backchannelLogoutUri: `${place}/backchannel-logout`,
    },
    'corp.example',
  );
});
afterAll(async () => {
  replicas?.[1]?.close();
  await second?.stop();
  await system?.stop();
  await provider?.stop();
});

/** Signs somebody in with the provider. */
async function codeByProvider(person: Person, login: string): Promise<Code> {
  const { verifier, challenge } = newPkce();
  const started = await person.get(
    `/authorize?${authorizeQuery({ client_id: clientId, code_challenge: challenge })}`,
  );
  const sent = await person.submit(started.header('location') ?? '', { provider: 'corp' });
  const back = await signInAtProvider(sent.header('location') ?? '', login);
  const answered = await person.get(`${back.pathname}${back.search}`);
  const location = answered.header('location') ?? '';
  expect(location.startsWith(redirectUri), `status ${answered.status}`).toBe(true);
  return { code: new URL(location).searchParams.get('code') ?? '', verifier, clientId };
}

it('a provider that is removed under load ends sessions and refresh tokens of its people on every replica within a second', async () => {
  await system.apply({ providerIssuer: provider.issuer });
  const theirs: { readonly person: Person; readonly refreshToken: string }[] = [];
  for (let at = 0; at < count; at += 1) {
    const person = system.person();
    const { refreshToken } = tokensOf(await redeem(system.http, await codeByProvider(person, `person${at}`)));
    theirs.push({ person, refreshToken: refreshToken ?? '' });
  }
  const ada = system.person();
  const own = tokensOf(await redeem(system.http, await codeFor(ada, clientId, {}, people.ada)));

  let isOver = false;
  /** When the last request was sent of those that were accepted. */
  const accepted = { session: 0, refresh: 0 };
  const served = { session: 0, refresh: 0 };
  const note = (what: keyof typeof accepted, sentAt: number): void => {
    accepted[what] = Math.max(accepted[what], sentAt);
    served[what] += 1;
  };
  async function use({ person, refreshToken }: (typeof theirs)[number]): Promise<string> {
    let token = refreshToken;
    for (let turn = 0; !isOver; turn += 1) {
      const http = replicas[turn % 2] as HttpClient;
      const elsewhere = new Person(http, person.login);
      for (const [name, value] of person.cookies) elsewhere.cookies.set(name, value);
      const asked = Date.now();
      const silent = await elsewhere.get(
        `/authorize?${authorizeQuery({ client_id: clientId, prompt: 'none' })}`,
      );
      if (/[?&]code=/.test(silent.header('location') ?? '')) note('session', asked);
      const presented = Date.now();
      const answer = await refresh(http, token, clientId);
      if (answer.status !== 200) continue;
      note('refresh', presented);
      token = tokensOf(answer).refreshToken ?? '';
    }
    return token;
  }
  const using = theirs.map(use);
  await eventually('everybody is served', () => served.session > 4 * count && served.refresh > 4 * count);

  const { output } = system;
  const before = timesApplied(output.call(system));
  const applying = system.apply({});
  await eventually('it is applied', () => timesApplied(output.call(system)) > before, 30_000, 5);
  const applied = Date.now();
  await applying;
  await new Promise((done) => setTimeout(done, 2000));
  isOver = true;
  const left = await Promise.all(using);

  expect(accepted.session).toBeLessThan(applied + 1000);
  expect(accepted.refresh).toBeLessThan(applied + 1000);
  for (const http of replicas) {
    for (const token of left) expect(await introspect(http, token)).toEqual({ active: false });
    expect(await introspect(http, own.refreshToken ?? '')).toMatchObject({ active: true });
  }
  tokensOf(await refresh(system.http, own.refreshToken, clientId));
});
