import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';

const batchSize = 500;
const batchesPerRun = 20;

export interface Purge {
  /** No further batch begins; resolves when the one under way has ended. */
  close(): Promise<void>;
}

export interface PurgeOptions {
  /** What is removed, for the log, for example `sessions`. */
  readonly what: string;
  readonly intervalMs: number;
  readonly log: Logger;
}

/**
 * Removes what is long over, in small batches, a bounded number per run. Any number of processes may do it at once: each
 * skips the rows another one holds.
 */
export function startPurge(
  store: {
    /** Removes up to `limit` records. Answers how many it removed. */
    purge(limit: number): Promise<number>;
  },
  { what, intervalMs, log }: PurgeOptions,
): Purge {
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
      await run().catch((error: unknown) => log.warn({ error }, `old ${what} were not removed`));
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
