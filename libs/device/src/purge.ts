import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '@tessera/kit';
import type { DecisionStore } from './store.ts';

const batchSize = 500;
const batchesPerRun = 20;

export interface Purge {
  close(): Promise<void>;
}

/**
 * Removes decisions that are long over, in small batches, a bounded number per run. Any number of processes may do it
 * at once: each skips the rows another one holds.
 */
export function startPurge(store: Pick<DecisionStore, 'purge'>, intervalMs: number, log: Logger): Purge {
  const closing = new AbortController();
  const { signal } = closing;

  async function run(): Promise<void> {
    for (let batch = 0; batch < batchesPerRun && !signal.aborted; batch += 1) {
      if ((await store.purge(batchSize)) < batchSize) return;
    }
  }

  async function repeat(): Promise<void> {
    while (!signal.aborted) {
      await pause(intervalMs, undefined, { signal, ref: false }).catch(() => undefined);
      if (signal.aborted) return;
      await run().catch((error: unknown) => log.warn({ error }, 'old decisions were not removed'));
    }
  }

  const repeating = repeat();
  return {
    async close() {
      closing.abort();
      await repeating;
    },
  };
}
