import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { repeat } from '@tessera/kit';

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
  async function purgeAll(signal: AbortSignal): Promise<void> {
    while (!signal.aborted && (await store.purge(batchSize)) >= batchSize)
      await pause(batchPauseMs, undefined, { signal, ref: false });
  }

  return repeat(purgeAll, {
    pauseMs: intervalMs,
    startsWithPause: true,
    onError: (error) => log.warn({ err: error }, `cannot purge ${what}`),
  });
}
