import type { Kit } from '@tessera/kit';
import type { RedemptionStore, RefreshStore, RevocationStore } from './store.ts';

const everyMs = 10 * 60_000;
const batchSize = 500;

export interface Purge {
  /** No further batch begins; resolves when the one under way has ended. */
  close(): Promise<void>;
}

/**
 * Deletes what no request can need any more, in small batches so that no statement holds many locks.
 * Several processes may do so side by side: each skips what another has locked.
 */
export function startPurge(
  stores: { refresh: RefreshStore; redemption: RedemptionStore; revocations: RevocationStore },
  log: Kit['log'],
): Purge {
  const stop = new AbortController();
  let running = Promise.resolve();

  async function drain(deleteBatch: (limit: number) => Promise<number>): Promise<void> {
    while (!stop.signal.aborted && (await deleteBatch(batchSize)) === batchSize);
  }

  async function run(): Promise<void> {
    try {
      await drain((limit) => stores.refresh.purgeExpired(limit));
      await drain((limit) => stores.redemption.purgeOld(limit));
      await drain((limit) => stores.revocations.purgeOld(limit));
    } catch (error) {
      log.warn({ err: error }, 'expired grants could not be deleted; trying again later');
    }
  }

  const timer = setInterval(() => {
    running = running.then(run);
  }, everyMs);
  timer.unref();
  return {
    close() {
      stop.abort();
      clearInterval(timer);
      return running;
    },
  };
}
