import { setTimeout as sleep } from 'node:timers/promises';
import type { CleanUps, Scenario, Stage } from './scenario.ts';
import { RedisServer } from './stores.ts';

export const scenarioNames = [
  'rolling-restart',
  'drain',
  'kill',
  'redis-restart',
  'postgres-restart',
] as const;
export type ScenarioName = (typeof scenarioNames)[number];

export interface Setting {
  /** The commit that serves as the version before. */
  readonly old: string;
  readonly cleanUps: CleanUps;
  readonly log: (line: string) => void;
}

export async function scenarioOf(name: ScenarioName, { cleanUps }: Setting): Promise<Scenario> {
  const redis = await RedisServer.start();
  cleanUps.push(() => redis.kill());
  const common = { name, redisUrl: redis.url };
  switch (name) {
    case 'rolling-restart':
      return { ...common, topology: 'split', recoveryMs: 5_000, seamless: true, act: restartEach };
    case 'drain':
      return { ...common, topology: 'compact', recoveryMs: 5_000, seamless: true, act: restartEach };
    case 'kill':
      return { ...common, topology: 'split', recoveryMs: 10_000, act: killEach };
    case 'redis-restart':
      return { ...common, topology: 'split', recoveryMs: 10_000, act: (stage) => restartRedis(stage, redis) };
    case 'postgres-restart':
      return { ...common, topology: 'split', recoveryMs: 30_000, act: restartPostgres };
  }
}

/** Long enough for callers to connect again before the other replica goes. */
const betweenMs = 1_000;

/** Each process is asked to stop and started again, one after the other. */
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

/** Killed and started empty, at once and after a while. */
async function restartRedis({ recorder, log }: Stage, redis: RedisServer): Promise<void> {
  for (const awayMs of [0, 5_000]) {
    const over = recorder.fault('forget', 'redis');
    await redis.kill();
    await sleep(awayMs);
    await redis.comeBackEmpty();
    over();
    log(`Redis was killed and came back empty after ${awayMs} ms`);
    await sleep(8_000);
  }
}

async function restartPostgres({ postgres, recorder, log }: Stage): Promise<void> {
  for (const [how, awayMs] of [
    ['fast', 0],
    ['immediate', 0],
    ['fast', 4_000],
  ] as const) {
    const over = recorder.fault('stop', `postgres (${how})`);
    await postgres.shutDown(how);
    await sleep(awayMs);
    await postgres.comeBack();
    over();
    log(`Postgres was shut down (${how}) and came back after ${awayMs} ms`);
    await sleep(8_000);
  }
}
