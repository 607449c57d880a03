import type { AuditEvent } from '@tessera/audit';
import type { Clock, Random } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { createAdminStore } from './store/admin-store.postgres.ts';
import type { Epoch } from './store/store.ts';

/**
 * Invalidates every refresh family, session, code and decision issued so far, in one tenant or in all. For a database
 * that lost commits, as after a restore, so that it is unknown which of them had ended. Processes notice within a
 * second. Empty if there is no such tenant.
 */
export async function bumpEpoch(
  database: Database,
  runtime: { readonly clock: Clock; readonly random: Random },
  tenantId: string | undefined,
  actor: NonNullable<AuditEvent['actor']>,
): Promise<readonly Epoch[]> {
  return createAdminStore(database, runtime).bumpEpoch(tenantId, {
    event: 'epoch.bumped',
    outcome: 'success',
    actor,
  });
}
