import { repeat } from '@tessera/kit';
import type { Logger } from '@tessera/telemetry';

/** An attempt takes at most 5 s; if its process dies, another one continues after this time. */
export const leaseSeconds = 15;
/** Concurrent deliveries of one process. */
const mostAtOnce = 200;
/**
 * Concurrent deliveries of one application, so that a receiver that does not answer cannot delay the deliveries of
 * others. The same number bounds one claim, so an application never has twice as many.
 */
const mostOfOne = 20;
/**
 * How often pending deliveries are read without a wake-up: those of other processes, of processes that died, and
 * retries. It is one statement on an index that is empty while nothing is pending.
 */
const pollMs = 1_000;

/** A claimed delivery. */
export interface Due {
  readonly clientId: string;
}

export interface Worker {
  /** To be called when there may be a delivery. */
  wake(): void;
  /** Aborted when this process stops delivering. */
  readonly closing: AbortSignal;
  /** Leaves unfinished deliveries to other processes. */
  close(): Promise<void>;
}

/** Starts delivering at once. Any number of processes may do so concurrently. */
export function startWorker<D extends Due>({
  claim,
  deliver,
  log,
  pauseMs = pollMs,
}: {
  /** Claims up to `limit` due deliveries for `leaseSeconds`, except those of the client ids in `skipped`. */
  readonly claim: (limit: number, skipped: readonly string[]) => Promise<readonly D[]>;
  /** Makes one attempt and records its result. */
  readonly deliver: (delivery: D, closing: AbortSignal) => Promise<void>;
  readonly log: Logger;
  /** Between two reads without a wake-up; a second by default. */
  readonly pauseMs?: number;
}): Worker {
  const closing = new AbortController();
  const underWay = new Set<Promise<void>>();
  const ofClients = new Map<string, number>();

  function startDelivery(delivery: D): void {
    const { clientId } = delivery;
    ofClients.set(clientId, (ofClients.get(clientId) ?? 0) + 1);
    const delivering = deliver(delivery, closing.signal)
      .catch((error: unknown) =>
        log.warn({ err: error }, 'cannot record the result of a delivery; it is repeated'),
      )
      .finally(() => {
        underWay.delete(delivering);
        const left = (ofClients.get(clientId) ?? 1) - 1;
        if (left === 0) ofClients.delete(clientId);
        else ofClients.set(clientId, left);
        if (underWay.size === mostAtOnce - 1 || left === mostOfOne - 1) claims.soon();
      });
    underWay.add(delivering);
  }

  async function claimDue(): Promise<void> {
    for (;;) {
      const limit = Math.min(mostAtOnce - underWay.size, mostOfOne);
      if (limit === 0) return;
      const busy = [...ofClients].filter(([, count]) => count >= mostOfOne).map(([clientId]) => clientId);
      const due = await claim(limit, busy);
      due.forEach(startDelivery);
      if (due.length < limit || closing.signal.aborted) return;
    }
  }

  const claims = repeat(claimDue, {
    pauseMs,
    onError(error, failures) {
      if (failures === 1) log.warn({ err: error }, 'cannot read pending deliveries');
    },
  });
  return {
    closing: closing.signal,
    wake: () => claims.soon(),
    async close() {
      closing.abort();
      await claims.close();
      await Promise.all(underWay);
    },
  };
}
