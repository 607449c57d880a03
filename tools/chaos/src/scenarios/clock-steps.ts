import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Stage } from './scenario.ts';

/** Loaded into every process, so that a signal steps its clock by an hour. */
export const steppableClock = fileURLToPath(import.meta.resolve('@tessera/test-client/steppable-clock'));

const steppedMs = 6_000;

/** The clock of one `token` steps by an hour and back, then those of both: they issue nothing meanwhile. */
export async function stepClocks({ cluster, recorder, log }: Stage): Promise<void> {
  /** The access tokens issued while the clocks of the named replicas are wrong. */
  const step = async (names: readonly string[]): Promise<number> => {
    const replicas = cluster.replicas.filter(({ name }) => names.includes(name));
    const over = recorder.fault('stop', `the clock of ${names.join(' and ')}`);
    for (const replica of replicas) replica.stepClock();
    await Promise.all(replicas.map((replica) => replica.unready()));
    const from = performance.now();
    await sleep(steppedMs);
    const issued = recorder.operations
      .filter(({ startedAt }) => startedAt > from)
      .flatMap(({ delivered }) => delivered.filter(({ type }) => type === 'access'));
    for (const replica of replicas) replica.stepClock();
    await Promise.all(replicas.map((replica) => replica.ready()));
    over();
    log(`while the clock of ${names.join(' and ')} was wrong, ${issued.length} access tokens were issued`);
    await sleep(steppedMs);
    return issued.length;
  };
  if ((await step(['token-1'])) === 0) throw new Error('token-2 issued nothing while token-1 was not ready');
  if ((await step(['token-1', 'token-2'])) > 0) throw new Error('tokens were issued by a wrong clock');
}
