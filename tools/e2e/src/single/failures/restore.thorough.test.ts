import { spawn } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { installedDatabaseUrl, postgresUrl, redisUrl } from '@tessera/test-kit';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '@tessera/test-kit/provision';
import {
  decideDevice,
  describeFailure,
  introspect,
  type Person,
  revoke,
  type Tokens,
  tokensOf,
} from '@tessera/test-client';
import {
  authorizeQuery,
  clientCredentials,
  type Code,
  codeFor,
  expectError,
  redeem,
  refresh,
} from '../../harness/flows.ts';
import { poll, startDevice } from '../../harness/out-of-band.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

const root = fileURLToPath(new URL('../../../../../', import.meta.url));

describe.each([setUps.compact, setUps.split])('a database that was restored, $name', (setUp) => {
  let system: System;
  let databaseUrl: string;
  let name: string;

  beforeAll(async () => {
    databaseUrl = await installedDatabaseUrl();
    name = new URL(databaseUrl).pathname.slice(1);
    system = await startSystem(setUp, { stores: { databaseUrl, redisUrl: redisUrl() } });
  });
  afterAll(async () => {
    await system?.stop();
    await administer(async (admin) => {
      for (const rest of ['gap', 'copy']) await admin.query(`DROP DATABASE IF EXISTS ${name}_${rest}`);
    });
  });

  async function administer(work: (admin: pg.Client) => Promise<void>): Promise<void> {
    const admin = new pg.Client({ connectionString: postgresUrl() });
    await admin.connect();
    try {
      await work(admin);
    } finally {
      await admin.end();
    }
  }

  /** No other connection is in the database meanwhile; processes that run lose their connections. */
  async function alone(work: (admin: pg.Client) => Promise<void>): Promise<void> {
    await administer(async (admin) => {
      await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
      await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
      await work(admin);
    });
    await eventually('the database is back', async () => {
      const probe = await codeFor(system.person()).catch(() => undefined);
      return probe !== undefined && (await redeem(system.http, probe)).status === 200;
    });
  }

  const backUp = () =>
    alone(async (admin) => {
      await admin.query(`CREATE DATABASE ${name}_copy TEMPLATE ${name}`);
      await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    });

  const restore = () =>
    alone(async (admin) => {
      await admin.query(`ALTER DATABASE ${name} RENAME TO ${name}_gap`);
      await admin.query(`ALTER DATABASE ${name}_copy RENAME TO ${name}`);
    });

  async function bumpEpoch(): Promise<string> {
    const child = spawn(process.execPath, ['apps/cli/src/main.ts', 'epoch', 'bump'], {
      cwd: root,
      env: { PATH: process.env['PATH'] ?? '', DATABASE_URL: databaseUrl },
      stdio: ['ignore', 'inherit', 'pipe'],
    });
    let said = '';
    child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString('utf8')));
    expect(await new Promise((resolve) => child.once('close', resolve)), said).toBe(0);
    return said;
  }

  const signIn = async (person: Person = system.person()): Promise<Tokens> =>
    tokensOf(await redeem(system.http, await codeFor(person)));

  const isSignedIn = async (person: Person): Promise<boolean> => {
    const answer = await person.get(`/authorize?${authorizeQuery()}`);
    return !(answer.header('location') ?? '').startsWith('/login');
  };

  /** A copy of the browser as it is now. */
  function copyOf(person: Person): Person {
    const copy = system.person();
    for (const [cookie, value] of person.cookies) copy.cookies.set(cookie, value);
    return copy;
  }

  it('brings nothing of the gap back to life once the epoch is bumped, and lets people sign in anew (F24, F6)', async () => {
    const { http } = system;
    const [stays, leaves, comes] = [system.person(), system.person(), system.person()];
    const untouched = await signIn(stays);
    const revoked = await signIn(leaves);
    const rotated = await signIn();
    const redeemedInGap = await codeFor(system.person());
    const unredeemed: Code = await codeFor(system.person());
    const approved = await startDevice(http);
    await decideDevice(system.person(), approved.userCode, 'approve');
    const refused = await startDevice(http);
    const approvedInGap = await startDevice(http);
    const left = copyOf(leaves);
    await backUp();

    expect((await revoke(http, revoked.refreshToken)).status).toBe(200);
    await leaves.get('/logout?client_id=acme-web');
    const successor = tokensOf(await refresh(http, rotated.refreshToken));
    const ofCode = tokensOf(await redeem(http, redeemedInGap));
    const ofGap = await signIn(comes);
    await decideDevice(system.person(), refused.userCode, 'deny');
    await decideDevice(system.person(), approvedInGap.userCode, 'approve');
    await restore();

    expect(await introspect(http, revoked.refreshToken), 'the revocation is forgotten').toMatchObject({
      active: true,
    });
    expect(await bumpEpoch()).toMatch(/^acme: sign-ins before .* are no longer valid$/m);
    await pause(1000);

    const issued = { untouched, revoked, rotated, successor, ofCode, ofGap };
    for (const [which, { refreshToken }] of Object.entries(issued)) {
      expect((await introspect(http, refreshToken))['active'], which).toBe(false);
      expect(describeFailure(await refresh(http, refreshToken)), which).toContain(
        'status 400, invalid_grant',
      );
    }
    for (const person of [stays, left, comes]) expect(await isSignedIn(person)).toBe(false);
    for (const code of [redeemedInGap, unredeemed])
      expectError(await redeem(http, code), 400, 'invalid_grant');
    expectError(await poll(http, 'device', approved.deviceCode, 'acme-tv'), 400, 'invalid_grant');
    for (const { deviceCode } of [refused, approvedInGap])
      expect((await poll(http, 'device', deviceCode, 'acme-tv')).status).toBe(400);

    const again = await signIn(stays);
    expect(await isSignedIn(stays)).toBe(true);
    const next = tokensOf(await refresh(http, again.refreshToken));
    expect(await introspect(http, next.refreshToken)).toMatchObject({ active: true });
    tokensOf(await clientCredentials(http));
  });
});
