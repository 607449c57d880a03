import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { eventually, freePort, startPostgres, startRedis } from '@tessera/test-kit/provision';
import {
  authorizationQuery,
  callAsOperator,
  HttpClient,
  newPkce,
  Person,
  type Environment,
} from '@tessera/test-client';
import { peakMemoryMiB, startCommand, type CommandProcess } from '../../harness/command-process.ts';
import { people } from '../../harness/declared-names.ts';
import { clientCredentials, codeFor, redeem } from '../../harness/flows.ts';
import { passwordOfRealm, personOf, redirectUriOfRealm, writeRealm } from '../../harness/generated-realm.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const count = Number(process.env['TESSERA_TEST_IMPORTED_PEOPLE'] ?? 20_000);
const longestMs = 60 * 60_000;
/** Of the time that a sign-in takes beside an import, to that without. */
const mostSlower = 2;
/** Memory of the command beside that of a small import and of the file. */
const mostMiB = 10;
const token = `a-shared-token-${randomBytes(12).toString('hex')}`;
const secret = `${'a'.repeat(20)}-${randomBytes(12).toString('hex')}`;
/** All, as an operator has them. */
const scopes = [
  ...[
    'tenants',
    'resources',
    'roles',
    'users',
    'applications',
    'keys',
    'sessions',
    'grants',
    'approvals',
  ].flatMap((each) => [`admin.${each}.read`, `admin.${each}.write`]),
  'admin.audit.read',
  'admin.helpdesk.write',
];
const mover = `
tenants:
  - id: acme
    applications:
      - clientId: mover
        name: Mover
        type: confidential
        secrets: [{ value: ${secret} }]
        grantTypes: [client_credentials]
        scopes: [${scopes.join(', ')}]
`;

let system: System;
let directory: string;
let database: Client;
let environment: Environment;
const stops: (() => Promise<void>)[] = [];
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), 'tessera-e2e-'));
  stops.push(async () => rm(directory, { recursive: true, force: true }));
  // As durable as a real one, and without a log of all statements.
  const postgres = await startPostgres({ fsync: 'on', full_page_writes: 'on' });
  stops.push(async () => postgres.stop());
  const redis = await startRedis();
  stops.push(async () => redis.stop());
  const adminPort = await freePort();
  system = await startSystem(setUps.compact, {
    stores: { databaseUrl: postgres.url, redisUrl: redis.url },
    environment: {
      TESSERA_LOG_LEVEL: 'info',
      TESSERA_RPC_TOKEN: token,
      TESSERA_ADMIN_PORT: String(adminPort),
      TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '100000000',
      TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS: '100000',
      TESSERA_LOGIN_FAILURES_PER_ACCOUNT: '100000000',
      TESSERA_LOGIN_FAILURES_PER_ADDRESS: '100000000',
    },
  });
  stops.push(async () => system.stop());
  database = new Client({ connectionString: postgres.url });
  await database.connect();
  stops.push(async () => database.end());
  const { TESSERA_ADMIN_PORT: port = '' } = system.environmentOf('standalone');
  await callAsOperator(Number(port), token, 'admin.v1.DeclaredStateService/Apply', {
    tenantId: 'acme',
    owner: 'mover',
    document: mover,
    allowAdministration: true,
  });
  environment = {
    HOME: directory,
    TESSERA_API: `http://127.0.0.1:${port}`,
    TESSERA_ISSUER: system.baseUrl,
    TESSERA_CLIENT_ID: 'mover',
    TESSERA_CLIENT_SECRET: secret,
  };
});
afterAll(async () => {
  for (const stop of stops.toReversed()) await stop();
});

const issuerOf = (tenant: string) => `${system.baseUrl}/realms/${tenant}`;

/** Each tenant has a client of its own, as no two may have one of the same name. */
const fileOf = (tenant: string) => join(directory, `${tenant}.json`);

function importing(tenant: string): CommandProcess {
  return startCommand(
    ['import', 'keycloak', fileOf(tenant), '--tenant', tenant, '--issuer', issuerOf(tenant)],
    environment,
  );
}

async function done({ ended, printed }: CommandProcess): Promise<string> {
  expect(await ended, printed.said.slice(-2000)).toBe(0);
  return printed.said;
}

/** What the tenant has of everybody. */
async function contentOf(tenant: string) {
  const { rows } = await database.query<Record<string, string>>(
    `SELECT count(*) AS people, count(DISTINCT username) AS names,
            (SELECT count(*) FROM directory.totp WHERE tenant_id = $1) AS apps,
            (SELECT count(*) FROM directory.user_role WHERE tenant_id = $1) AS roles,
            (SELECT count(*) FROM directory.audit_event WHERE tenant_id = $1 AND event = 'user.created') AS created,
            md5(string_agg(concat_ws(' ', user_id, username, email, name, status, password_hash, standard_claims, attributes),
                           ',' ORDER BY user_id)) AS digest,
            md5(string_agg(user_id || ' ' || username, ',' ORDER BY username COLLATE "C")) AS identifiers
       FROM directory.user_account WHERE tenant_id = $1`,
    [tenant],
  );
  return rows[0] ?? {};
}

function expectedContent() {
  const everybody = Array.from({ length: count }, (_, index) => personOf(index));
  const ofRoles = everybody.reduce((sum, { isManager }) => sum + (isManager ? 4 : 3), 0);
  const identifiers = everybody.map(({ id, username }) => `${id} ${username}`).join(',');
  return {
    people: String(count),
    names: String(count),
    apps: String(everybody.filter(({ hasApp }) => hasApp).length),
    roles: String(ofRoles),
    created: String(count),
    identifiers: createHash('md5').update(identifiers).digest('hex'),
  };
}

async function peopleOf(tenant: string): Promise<number> {
  const text = 'SELECT count(*) AS people FROM directory.user_account WHERE tenant_id = $1';
  const { rows } = await database.query<{ people: string }>(text, [tenant]);
  return Number(rows[0]?.people);
}

/** Signs in and redeems the code, as people of another tenant do, and asks for a token, again and again. */
function load() {
  const [signIns, tokens]: [number[], number[]] = [[], []];
  let isOver = false;
  const again = async (into: number[], work: () => Promise<unknown>) => {
    while (!isOver) {
      const begun = performance.now();
      await work();
      into.push(performance.now() - begun);
      await sleep(100);
    }
  };
  const working = Promise.all([
    again(signIns, async () => {
      const answer = await redeem(system.http, await codeFor(new Person(system.http, people.ada)));
      expect(answer.status).toBe(200);
    }),
    again(tokens, async () => expect((await clientCredentials(system.http)).status).toBe(200)),
  ]);
  return async () => {
    isOver = true;
    await working;
    return { signIns: sharesOf(signIns), tokens: sharesOf(tokens) };
  };
}

function sharesOf(times: readonly number[]) {
  const sorted = times.toSorted((left, right) => left - right);
  const at = (share: number) => Math.round(sorted[Math.floor(share * sorted.length)] ?? 0);
  return { count: sorted.length, median: at(0.5), p95: at(0.95), longest: at(0.9999) };
}

/** Whether somebody signs in with the password of the realm. */
async function signsIn(tenant: string, username: string): Promise<boolean> {
  const person = new Person(new HttpClient(() => system.baseUrl), {
    tenant,
    username,
    password: passwordOfRealm,
  });
  const query = authorizationQuery({
    client_id: `${tenant}-web`,
    redirect_uri: redirectUriOfRealm,
    scope: 'openid',
    code_challenge: newPkce().challenge,
  });
  const started = await person.get(`/realms/${tenant}/protocol/openid-connect/auth?${query}`);
  const answer = await person.submit(started.header('location') ?? '', {
    identifier: username,
    password: passwordOfRealm,
  });
  return (answer.header('location') ?? '').startsWith(`${redirectUriOfRealm}?code=`);
}

it(
  'a realm of many people comes over the API whole and once, killed twice, in little memory, beside others who sign in',
  async () => {
    for (const tenant of ['whole', 'large'])
      await writeRealm(fileOf(tenant), { count, clientId: `${tenant}-web` });
    await writeRealm(fileOf('small'), { count: 500, clientId: 'small-web' });
    const fileMiB = (await stat(fileOf('whole'))).size / 2 ** 20;
    const first = importing('small');
    await done(first);

    const quiet = load();
    await sleep(Math.min(30_000, 5 * count));
    const without = await quiet();
    const serverBefore = peakMemoryMiB(system.processes[0]?.pid ?? 0);
    const busy = load();
    const begun = performance.now();
    const whole = importing('whole');
    const said = await done(whole);
    const seconds = Math.round((performance.now() - begun) / 1000);
    const beside = await busy();
    const serverAfter = peakMemoryMiB(system.processes[0]?.pid ?? 0);
    expect(said).toMatch(/^whole: \d+ created, 0 updated, 0 deleted$/m);
    expect(await contentOf('whole')).toMatchObject(expectedContent());

    for (const share of [1 / 3, 2 / 3]) {
      const killed = importing('large');
      let code: number | null | undefined;
      void killed.ended.then((of) => (code = of));
      await eventually(
        'a share is there, or the command has ended',
        async () => code !== undefined || (await peopleOf('large')) >= count * share,
        longestMs,
        200,
      );
      expect(code, killed.printed.said.slice(-2000)).toBeUndefined();
      killed.kill();
      expect(await killed.ended).toBeNull();
      expect(await peopleOf('large')).toBeLessThan(count);
    }
    const missing = count - (await peopleOf('large'));
    expect(await done(importing('large'))).toContain(`large: ${missing} created, 0 updated, 0 deleted`);
    expect(await contentOf('large')).toMatchObject({
      ...expectedContent(),
      digest: (await contentOf('whole'))['digest'],
    });
    expect(await done(importing('large'))).toContain('large: 0 created, 0 updated, 0 deleted');
    for (const index of [1, 2, 3, 4].map((kind) => count - 20 + kind))
      expect(await signsIn('large', personOf(index).username)).toBe(true);
    const figures = {
      people: count,
      seconds,
      fileMiB,
      clientMiB: { small: first.peakMiB(), large: whole.peakMiB() },
      serverMiB: { before: serverBefore, after: serverAfter },
      without,
      beside,
    };
    await mkdir('test-output', { recursive: true });
    await writeFile('test-output/import-keycloak.json', JSON.stringify(figures, undefined, 2));
    expect(whole.peakMiB() - first.peakMiB() - fileMiB).toBeLessThan(mostMiB);
    for (const key of ['median', 'p95'] as const)
      expect(beside.signIns[key], key).toBeLessThanOrEqual(mostSlower * without.signIns[key]);
  },
  longestMs,
);
