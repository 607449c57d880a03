import type { Database, Queryable } from '@tessera/stores';
import { lockTenant, notFound, refuseOtherVersion, type PersonId } from '@tessera/directory/ground';
import { lockRecord, type UserRecord } from '@tessera/directory/records';

/**
 * Runs the change of a person by an administrator, with the locks that `ofSignedIn` takes, whether or not the person
 * may sign in. Throws NotFound, and Aborted for another version than `etag`, unless that is empty.
 */
export async function ofAnybody<T>(
  database: Database,
  { tenantId, userId, etag = '' }: PersonId & { readonly etag?: string },
  work: (tx: Queryable, record: UserRecord) => Promise<T>,
): Promise<T> {
  return database.transaction(async (tx) => {
    await lockTenant(tx, tenantId, 'together');
    const found = await lockRecord(tx, 'user', tenantId, userId);
    if (found === undefined) throw notFound('The user');
    refuseOtherVersion('The user', etag, found.etag);
    return work(tx, found.record);
  });
}
