import type { Queryable } from '@tessera/stores';
import { appendChanges } from '../ground/append-changes.postgres.ts';
import type { PersonId } from '../ground/person-id.ts';
import { personValidFrom } from '../ground/valid-from.ts';

/**
 * Ends what was issued to a person before; to be called last in a transaction that has their row. Returns from when sign-ins count, in
 * seconds since the Unix epoch.
 */
export async function endOwnSignIns(tx: Queryable, { tenantId, userId }: PersonId): Promise<number> {
  const { rows } = await tx.query<{ valid_from: number }>({
    name: 'directory.end_own_sign_ins',
    text: `UPDATE directory.user_account u SET valid_from = ${personValidFrom('u')}, updated_at = clock_timestamp()
            WHERE tenant_id = $1 AND user_id = $2 RETURNING valid_from::float8 AS valid_from`,
    values: [tenantId, userId],
  });
  const [changed] = rows;
  if (changed === undefined) throw new Error('a locked person is gone');
  await appendChanges(tx, [{ kind: 'user', tenantId, id: userId, endsAll: true }]);
  return changed.valid_from;
}
