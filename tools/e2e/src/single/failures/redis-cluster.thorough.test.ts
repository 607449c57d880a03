import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { installedDatabaseUrl } from '@tessera/test-kit';
import { eventually, type RedisCluster, startRedisCluster } from '@tessera/test-kit/provision';
import { decideCiba, decideDevice, tokensOf } from '@tessera/test-client';
import { codeFor, expectError, redeem } from '../../harness/flows.ts';
import { poll, startCiba, startDevice } from '../../harness/out-of-band.ts';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

/** Short-lived state is in a cluster of three masters, each with a replica. */
describe('Redis as a cluster, split in six processes', () => {
  let servers: RedisCluster;
  let system: System;

  beforeAll(async () => {
    servers = await startRedisCluster({ replicas: true });
    const stores = { databaseUrl: await installedDatabaseUrl(), redisUrl: servers.url };
    system = await startSystem(setUps.split, { stores });
  });
  afterAll(async () => {
    await system?.stop();
    await servers?.stop();
  });

  async function everyFlow(): Promise<void> {
    const { http } = system;
    const person = system.person();
    const code = await codeFor(person);
    tokensOf(await redeem(http, code));
    expectError(await redeem(http, code), 400, 'invalid_grant');
    const ofEndedSession = await codeFor(person);
    await person.get('/logout?client_id=acme-web');
    expectError(await redeem(http, ofEndedSession), 400, 'invalid_grant');
    const device = await startDevice(http);
    await decideDevice(system.person(), device.userCode, 'approve');
    tokensOf(await poll(http, 'device', device.deviceCode, 'acme-tv'));
    const message = randomBytes(4).toString('hex');
    const backchannel = await startCiba(http, { binding_message: message });
    await decideCiba(system.person(), 'deny', message);
    expectError(await poll(http, 'ciba', backchannel, 'acme-desk'), 400, 'access_denied');
  }

  it('serves every flow', everyFlow);

  it('serves every flow again when masters died and their replicas took over (F2)', async () => {
    // Two of three, one after the other: more than half of the masters must be there to agree.
    for (const index of [0, 1]) {
      await servers.masters[index]?.stop();
      await eventually('the replica took over', async () => isMaster(servers.replicas[index]?.url ?? ''));
      await eventually('every flow works again', async () => {
        // Few attempts: those to sign in are limited.
        await pause(500);
        await everyFlow();
        return true;
      });
    }
  });

  async function isMaster(url: string): Promise<boolean> {
    const client = new Redis(url);
    try {
      return (await client.role())[0] === 'master';
    } finally {
      client.disconnect();
    }
  }
});
