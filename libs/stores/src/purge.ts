import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';

const everyMinute = 60_000;
const batchSize = 500;
/** Leaves the connection to requests between two batches. */
const batchPauseMs = 20;

export interface Purge {
  /** Starts no further batch; resolves when the current one has ended. */
  close(): Promise<void>;
}

export interface PurgeOptions {
  /** What is deleted, for the log, for example `sessions`. */
  readonly what: string;
  /** Between two runs; a minute by default. */
  readonly intervalMs?: number;
  readonly log: Logger;
}

/**
 * Deletes expired records in small batches until a batch is not full. Any number of processes may do it at once: each
 * skips the rows that another one has locked.
 */
export function startPurge(
  store: {
    /** Deletes up to `limit` records; resolves with how many. */
    purge(limit: number): Promise<number>;
  },
  { what, intervalMs = everyMinute, log }: PurgeOptions,
): Purge {
  const closing = new AbortController();
  const { signal } = closing;
  const rest = (ms: number) => pause(ms, undefined, { signal, ref: false }).catch(() => undefined);

  async function repeat(): Promise<void> {
    for (;;) {
      await rest(intervalMs);
      try {
        while (!signal.aborted && (await store.purge(batchSize)) >= batchSize) await rest(batchPauseMs);
      } catch (error) {
        log.warn({ err: error }, `cannot purge ${what}`);
      }
      if (signal.aborted) return;
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
