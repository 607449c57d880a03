import type { AuditEvent } from '@tessera/audit';
import type { Clock, Random } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { createAdminStore } from './store/admin-store.postgres.ts';
import type { Epoch } from './store/store.ts';

/**
 * Ends what rests on any sign-in up to now, in one tenant or in all: refresh families, sessions, codes and decisions. For
 * a database that forgot commits, as after a restore: nobody knows which of them were ended since. Processes notice by
 * themselves, within a second. Empty when there is no such tenant.
 */
export async function bumpEpoch(
  database: Database,
  kit: { readonly clock: Clock; readonly random: Random },
  tenantId: string | undefined,
  actor: NonNullable<AuditEvent['actor']>,
): Promise<readonly Epoch[]> {
  return createAdminStore(database, kit).bumpEpoch(tenantId, {
    event: 'epoch.bumped',
    outcome: 'success',
    actor,
  });
}
