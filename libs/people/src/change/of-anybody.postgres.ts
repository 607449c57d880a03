import type { Database, Queryable } from '@tessera/stores';
import { lockTenant, notFound, type PersonId } from '@tessera/directory/ground';
import { lockRecord, type UserRecord } from '@tessera/directory/records';

/**
 * Runs the change of a person by an administrator, with the locks that `ofSignedIn` takes, whether or not the person
 * may sign in. Throws NotFound.
 */
export async function ofAnybody<T>(
  database: Database,
  { tenantId, userId }: PersonId,
  work: (tx: Queryable, record: UserRecord) => Promise<T>,
): Promise<T> {
  return database.transaction(async (tx) => {
    await lockTenant(tx, tenantId, 'together');
    const found = await lockRecord(tx, 'user', tenantId, userId);
    if (found === undefined) throw notFound('The user');
    return work(tx, found.record);
  });
}
