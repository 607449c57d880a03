import { setTimeout as sleep } from 'node:timers/promises';
import { countCrossings } from './crossings.ts';
import type { Operation } from '../history/history.ts';
import { administer } from '../load/administer.ts';
import type { Replica } from '../system/replica.ts';
import type { Stage } from './scenario.ts';

/** Callers retry a lost replica every two seconds: long enough to reconnect before the other one stops. */
export const betweenMs = 2_500;
/** How long a pair is watched once it is complete. */
const watchedMs = 5_000;

/** Restarts a replica from another checkout; undefined: this one. */
async function replace({ recorder }: Stage, replica: Replica, root: string | undefined): Promise<void> {
  const over = recorder.fault('stop', replica.name);
  await replica.stop();
  replica.moveTo(root);
  replica.start();
  await replica.ready();
  over();
  await sleep(betweenMs);
}

/** Both versions side by side, the new one alone, then the old one again beside it, as in a rollback. */
export async function replaceEach(stage: Stage, old: string): Promise<void> {
  const { cluster, recorder, log } = stage;
  const [first, second] = [0, 1].map((half) => cluster.replicas.filter((_replica, at) => at % 2 === half));
  for (const replica of second ?? []) await replace(stage, replica, undefined);
  log('of each process one is old and one is new');
  await sleep(10_000);
  for (const replica of first ?? []) await replace(stage, replica, undefined);
  log('every process is new');
  for (const replica of second ?? []) {
    if (['authorize', 'token', 'gateway'].includes(replica.service)) await replace(stage, replica, old);
  }
  log('some processes are old again');
  await sleep(10_000);
  const { forward, back } = countCrossings(cluster, recorder.operations, old);
  log(`the new version served ${forward} values of the old one, which served ${back} of the new one's`);
  if (forward === 0 || back === 0) throw new Error('the versions did not meet');
}

/**
 * Each service alone: new among old ones and back; then, once every process is new, old among new ones and back.
 * Whatever order a rollout or a rollback has, each call is made by one of these pairs.
 */
export async function replaceAlone(stage: Stage, old: string, only?: readonly string[]): Promise<void> {
  const { cluster, log } = stage;
  const all = [...new Set(cluster.replicas.map(({ service }) => service))];
  const services = only ?? all;
  const move = async (service: string, root: string | undefined): Promise<void> => {
    for (const replica of cluster.replicas) {
      if (replica.service === service) await replace(stage, replica, root);
    }
  };
  const administrators = administer(stage);
  try {
    for (const [among, alone, others] of [
      ['new among old ones', undefined, old],
      ['old among new ones', old, undefined],
    ] as const) {
      if (others === undefined) for (const service of all) await move(service, undefined);
      for (const service of services) {
        const from = performance.now();
        await move(service, alone);
        await sleep(watchedMs);
        await move(service, others);
        log(`${service} ${among}: ${summary(stage, from)}`);
      }
    }
  } finally {
    await administrators.leave();
  }
}

/** What the clients saw since then. */
function summary({ recorder }: Stage, from: number): string {
  const seen = recorder.operations.filter(({ startedAt }) => startedAt > from);
  const count = (is: (outcome: Operation['outcome']) => boolean): number =>
    seen.filter(({ outcome }) => is(outcome)).length;
  return (
    `${seen.length} answers, ${count(({ status }) => status === 500)} times 500, ` +
    `${count(({ status }) => status === 503)} times 503, ${count(({ result }) => result === 'lost')} without an answer`
  );
}
