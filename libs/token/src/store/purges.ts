import { startPurge } from '@tessera/stores';
import { type Runtime } from '@tessera/process';
import type { RedemptionStore, RefreshStore, RevocationStore } from './store.ts';

/** Periodically deletes rows that no request can need. `close` resolves when running batches have ended. */
export function startPurges(
  stores: { refresh: RefreshStore; redemption: RedemptionStore; revocations: RevocationStore },
  log: Runtime['log'],
): { close(): Promise<unknown> } {
  const { refresh, redemption, revocations } = stores;
  const purges = [
    ['refresh families', (limit: number) => refresh.purgeExpired(limit)],
    ['redemptions', (limit: number) => redemption.purgeOld(limit)],
    ['ended sessions', (limit: number) => redemption.purgeSessionEnds(limit)],
    ['revocations', (limit: number) => revocations.purge(limit)],
  ] as const;
  const running = purges.map(([what, purge]) => startPurge({ purge }, { what, log }));
  return { close: () => Promise.all(running.map((purge) => purge.close())) };
}
