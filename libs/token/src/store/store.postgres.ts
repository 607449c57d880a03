import type { Database } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import { createRedemptionStore } from './redemptions.postgres.ts';
import { createRefreshStore } from './refresh-families.postgres.ts';
import { createRevocationStore } from './revocations.postgres.ts';
import type { RedemptionStore, RefreshStore, RevocationStore } from './store.ts';

/** The stores on Postgres or PGlite, in the schema `token`. */
export function createPostgresStores(
  database: Database,
  runtime: Pick<Runtime, 'clock' | 'random'>,
): { refresh: RefreshStore; redemption: RedemptionStore; revocations: RevocationStore } {
  return {
    refresh: createRefreshStore(database, runtime),
    redemption: createRedemptionStore(database, runtime),
    revocations: createRevocationStore(database),
  };
}
