import { eventually, type ReplicatedRedis, startReplicatedRedis } from '@tessera/test-kit/provision';
import {
  decideCiba,
  decideDevice,
  describeFailure,
  introspect,
  openDevice,
  tokensOf,
} from '@tessera/test-client';
import { authorizeQuery, codeFor, expectError, redeem } from '../../harness/flows.ts';
import { poll, startCiba, startDevice } from '../../harness/out-of-band.ts';
import { installedDatabaseUrl } from '@tessera/test-kit';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

/** What may pass from the death of a master until a process has found its successor. */
const failoverMs = 30_000;

describe.each([setUps.compact, setUps.split])('Redis behind Sentinels, $name', (setUp) => {
  let servers: ReplicatedRedis;
  let system: System;
  let master: Redis;
  let replica: Redis;

  beforeAll(async () => {
    servers = await startReplicatedRedis();
    [master, replica] = servers.servers.map(({ url }) => new Redis(url)) as [Redis, Redis];
    for (const client of [master, replica]) client.on('error', () => undefined);
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: servers.url };
    const environment = {
      TESSERA_DEVICE_HMAC_KEY: 'e2e-device-hmac-key-0123456789-0123456789',
    };
    system = await startSystem(setUp, { stores, environment });
  });
  afterAll(async () => {
    await system?.stop();
    master?.disconnect();
    replica?.disconnect();
    await servers?.stop();
  });

  async function replicaHasEverything(): Promise<void> {
    await eventually('the replica has what the master has', async () => (await master.wait(1, 1000)) === 1);
  }

  /** From here on the master acknowledges what its replica never sees. */
  async function cutReplica(): Promise<void> {
    await replica.config('SET', 'masterauth', 'wrong');
    await replica.call('CLIENT', 'KILL', 'TYPE', 'master');
    await eventually('the replica is cut off', async () =>
      (await replica.info('replication')).includes('master_link_status:down'),
    );
  }

  it('gives nothing twice and takes nothing back when acknowledged writes are lost in a failover (F2, SES-7)', async () => {
    const { http } = system;
    const redeemed = await codeFor(system.person());
    const person = system.person();
    const ofEndedSession = await codeFor(person);
    const device = await startDevice(http);
    const backchannel = await startCiba(http, { binding_message: 'till 7' });
    await replicaHasEverything();
    await cutReplica();

    const lostDevice = await startDevice(http);
    const lostBackchannel = await startCiba(http);
    const usedDevice = await startDevice(http);
    await decideDevice(system.person(), usedDevice.userCode, 'approve');
    tokensOf(await poll(http, 'device', usedDevice.deviceCode, 'acme-tv'));
    const tokens = tokensOf(await redeem(http, redeemed));
    const copy = system.person();
    for (const [name, value] of person.cookies) copy.cookies.set(name, value);
    await decideDevice(system.person(), device.userCode, 'deny');
    await decideCiba(system.person(), 'deny', 'till 7');
    expect((await person.get('/logout?client_id=acme-web')).status).toBe(302);

    const codes = await replica.keys('*:authorize:code:*');
    const taken = await Promise.all(codes.map((key) => replica.hget(key, 'taken')));
    expect(taken, 'the replica knows of no redemption').toEqual([null, null]);
    await servers.servers[0].stop();
    const died = Date.now();
    const during: string[] = [];
    for (;;) {
      const answer = await redeem(http, ofEndedSession);
      if (answer.status !== 503) break;
      during.push(describeFailure(answer));
      expect(Date.now() - died).toBeLessThan(failoverMs);
    }
    expect(during.length).toBeGreaterThan(0);
    for (const failure of during) expect(failure).toContain('temporarily_unavailable');
    expect(await replica.role()).toContain('master');
    // In split, device finds the successor by itself, and may be later than authorize.
    await eventually(
      'device serves again',
      async () => (await openDevice(system.person(), device.userCode)).status === 200,
      failoverMs,
    );

    // What the new master holds is the state before the four ends.
    expectError(await redeem(http, ofEndedSession), 400, 'invalid_grant');
    expectError(await redeem(http, redeemed), 400, 'invalid_grant');
    expect(await introspect(http, tokens.refreshToken)).toMatchObject({ active: false });
    const next = await copy.get(`/authorize?${authorizeQuery()}`);
    expect(next.header('location')).toMatch(/^\/login\?/);
    await decideDevice(system.person(), device.userCode, 'approve');
    await decideCiba(system.person(), 'approve', 'till 7');
    expectError(await poll(http, 'device', device.deviceCode, 'acme-tv'), 400, 'access_denied');
    expectError(await poll(http, 'ciba', backchannel, 'acme-desk'), 400, 'access_denied');

    // Of what began since, nothing is left: those who wait start again, and what was used stays used.
    expectError(await poll(http, 'device', lostDevice.deviceCode, 'acme-tv'), 400, 'expired_token');
    expectError(await poll(http, 'ciba', lostBackchannel, 'acme-desk'), 400, 'expired_token');
    expectError(await poll(http, 'device', lostDevice.deviceCode, 'acme-box'), 400, 'invalid_grant');
    expectError(await poll(http, 'device', usedDevice.deviceCode, 'acme-tv'), 400, 'invalid_grant');

    tokensOf(await redeem(http, await codeFor(system.person())));
  });
});
