import type { Database } from '@tessera/stores';
import type { Kit } from '@tessera/process';
import { createRedemptionStore } from './redemptions.postgres.ts';
import { createRefreshStore } from './refresh-families.postgres.ts';
import { createRevocationStore } from './revocations.postgres.ts';
import type { RedemptionStore, RefreshStore, RevocationStore } from './store.ts';

/** The stores on Postgres or PGlite, in the schema `token`. */
export function createPostgresStores(
  database: Database,
  kit: Pick<Kit, 'clock' | 'random'>,
): { refresh: RefreshStore; redemption: RedemptionStore; revocations: RevocationStore } {
  return {
    refresh: createRefreshStore(database, kit),
    redemption: createRedemptionStore(database, kit),
    revocations: createRevocationStore(database),
  };
}
