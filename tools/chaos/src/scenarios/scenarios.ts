import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually, startReplicatedRedis } from '@tessera/test-kit/provision';
import { Redis } from 'ioredis';
import { checkOut } from '../system/checkout.ts';
import { steppableClock, stepClocks } from './clock-steps.ts';
import { rotateKeysAndSecrets } from './rotation.ts';
import type { Operation } from '../history/history.ts';
import type { CleanUps, Scenario, Stage } from './scenario.ts';
import { startForgetfulRedis, type ForgetfulRedis } from '../system/stores.ts';
import { betweenMs, replaceAlone, replaceEach } from './versions.ts';

export const scenarioNames = [
  'drain',
  'kill',
  'partition',
  'redis-restart',
  'redis-failover',
  'postgres-restart',
  'old-and-new',
  'pairs',
  'clock-step',
  'rotation',
  'rotation-split',
] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export interface Setting {
  /** The earlier commit, for `old-and-new` and `pairs`. */
  readonly old: string;
  /** Those that `pairs` replaces; absent: all. */
  readonly services?: readonly string[] | undefined;
  readonly cleanUps: CleanUps;
  readonly log: (line: string) => void;
}

export async function scenarioOf(
  name: ScenarioName,
  { old, services, cleanUps, log }: Setting,
): Promise<Scenario> {
  if (name === 'redis-failover') return failOver(name, cleanUps);
  const redis = await startForgetfulRedis();
  cleanUps.push(() => redis.kill());
  const common = { name, redisUrl: redis.url };
  switch (name) {
    case 'drain':
      return { ...common, topology: 'compact', recoveryMs: 5_000, noticed: 'nothing', act: restartEach };
    case 'kill':
      return { ...common, topology: 'split', recoveryMs: 10_000, act: killEach };
    case 'partition': {
      const behind = ['authorize', 'token'];
      return { ...common, topology: 'split', recoveryMs: 5_000, behind, act: cutNetworks };
    }
    case 'redis-restart':
      return { ...common, topology: 'split', recoveryMs: 10_000, act: (stage) => restartRedis(stage, redis) };
    case 'postgres-restart':
      return { ...common, topology: 'split', recoveryMs: 30_000, act: restartPostgres };
    case 'clock-step': {
      const preload = [steppableClock];
      return { ...common, topology: 'split', recoveryMs: 10_000, preload, act: stepClocks };
    }
    case 'rotation':
    case 'rotation-split':
      return {
        ...common,
        topology: name === 'rotation' ? 'compact' : 'split',
        administration: true,
        recoveryMs: 5_000,
        noticed: 'nothing',
        act: rotateKeysAndSecrets,
      };
    case 'old-and-new':
    case 'pairs': {
      const checkout = await checkOut(old);
      cleanUps.push(() => checkout.remove());
      log(`the earlier commit is ${old}`);
      const { root } = checkout;
      return {
        ...common,
        topology: 'split',
        recoveryMs: 5_000,
        noticed: 'retries',
        root,
        // An early commit has none.
        administration: name === 'pairs' && existsSync(join(root, 'apps', 'admin')),
        act: (stage) => (name === 'pairs' ? replaceAlone(stage, root, services) : replaceEach(stage, root)),
      };
    }
  }
}

/** A master with a replica under three Sentinels; the master is killed. */
async function failOver(name: ScenarioName, cleanUps: CleanUps): Promise<Scenario> {
  const redis = await startReplicatedRedis();
  cleanUps.push(() => redis.stop());
  return {
    name,
    topology: 'split',
    redisUrl: redis.url,
    recoveryMs: 10_000,
    async act({ recorder, log }) {
      const [master, replica] = redis.servers;
      const over = recorder.fault('forget', 'redis master');
      await cutReplication(replica.url);
      // The master confirms these writes, but no replica will ever have them.
      await sleep(unreplicatedMs);
      await master.stop();
      await untilMaster(replica.url);
      over();
      log(`the master of Redis was killed, and its replica took over without the last ${unreplicatedMs} ms`);
      await sleep(12_000);
    },
  };
}

/** Shorter than the age at which Sentinels consider a replica too old for a failover. */
const unreplicatedMs = 2_500;

/** Disconnects the replica for good: it authenticates as a user that the master does not know. */
async function cutReplication(url: string): Promise<void> {
  await onRedis(url, async (redis) => {
    await redis.config('SET', 'masteruser', 'nobody');
    await redis.config('SET', 'masterauth', 'nothing');
    await redis.call('CLIENT', 'KILL', 'TYPE', 'master');
    await eventually('replication is cut', async () =>
      (await redis.info('replication')).includes('master_link_status:down'),
    );
  });
}

async function untilMaster(url: string): Promise<void> {
  await onRedis(url, async (redis) =>
    eventually('the replica is the master', async () =>
      (await redis.info('replication')).includes('role:master'),
    ),
  );
}

async function onRedis(url: string, work: (redis: Redis) => Promise<void>): Promise<void> {
  const redis = new Redis(url);
  try {
    await work(redis);
  } finally {
    redis.disconnect();
  }
}

/** Restarts one process after the other. */
async function restartEach({ cluster, recorder, log }: Stage): Promise<void> {
  for (const replica of cluster.replicas) {
    const over = recorder.fault('stop', replica.name);
    await replica.stop();
    replica.start();
    await replica.ready();
    over();
    log(`${replica.name} stopped and started`);
    await sleep(betweenMs);
  }
}

async function killEach({ cluster, recorder, log }: Stage): Promise<void> {
  for (const replica of cluster.replicas) {
    const over = recorder.fault('kill', replica.name);
    await replica.kill();
    await sleep(500);
    replica.start();
    await replica.ready();
    over();
    log(`${replica.name} killed and started`);
    await sleep(betweenMs);
  }
}

/** How soon callers drop a silent replica: keepalive of the gRPC channel (6 s and 3 s), on a busy machine. */
const leftWithinMs = 12_000;

/** Drops packets to one of two replicas, then to both of another service, unnoticed by their callers. */
async function cutNetworks({ cluster, recorder, log }: Stage): Promise<void> {
  const since = (from: number): Operation[] =>
    recorder.operations.filter(({ startedAt }) => startedAt > from);
  const cut = async (names: readonly string[], work: () => Promise<void>): Promise<void> => {
    const networks = names.map((name) => cluster.networks.get(name));
    const over = recorder.fault('stop', `the network to ${names.join(' and ')}`);
    const from = performance.now();
    for (const network of networks) network?.cut('silent');
    await work();
    for (const network of networks) network?.heal();
    over();
    const refused = since(from).filter(({ outcome }) => outcome.result === 'unavailable');
    const slowest = Math.max(0, ...refused.map(({ startedAt, endedAt }) => endedAt - startedAt));
    log(
      `without a network to ${names.join(' and ')}: ${refused.length} times 503, the slowest after ${Math.round(slowest)} ms`,
    );
    await sleep(6_000);
  };
  await cut(['token-1'], async () => {
    await sleep(leftWithinMs);
    const from = performance.now();
    await sleep(6_000);
    const late = since(from).filter(({ outcome }) => outcome.result === 'unavailable');
    if (late.length > 0) throw new Error(`token-1 was still called after ${leftWithinMs} ms`);
  });
  await cut(['authorize-1', 'authorize-2'], async () => {
    const from = performance.now();
    await sleep(10_000);
    for (const kind of ['refresh', 'client-credentials', 'introspect-access', 'keys'] as const) {
      const served = since(from).some((one) => one.kind === kind && one.outcome.result === 'good');
      if (!served) throw new Error(`no ${kind} was served while authorize could not be reached`);
    }
  });
}

/** Redis is killed and restarted empty, at once and after a while. */
async function restartRedis({ recorder, log }: Stage, redis: ForgetfulRedis): Promise<void> {
  for (const downMs of [0, 5_000]) {
    const over = recorder.fault('forget', 'redis');
    await redis.kill();
    await sleep(downMs);
    await redis.comeBackEmpty();
    over();
    log(`Redis was killed and came back empty after ${downMs} ms`);
    await sleep(8_000);
  }
}

async function restartPostgres({ postgres, recorder, log }: Stage): Promise<void> {
  for (const [how, downMs] of [
    ['fast', 0],
    ['immediate', 0],
    ['fast', 4_000],
  ] as const) {
    const over = recorder.fault('stop', `postgres (${how})`);
    await postgres.shutDown(how);
    await sleep(downMs);
    await postgres.start();
    over();
    log(`Postgres was shut down (${how}) and came back after ${downMs} ms`);
    await sleep(8_000);
  }
}
