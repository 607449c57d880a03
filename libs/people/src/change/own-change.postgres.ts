import type { AuditEvent } from '@tessera/audit';
import type { Queryable } from '@tessera/stores';
import { appendChanges, areActive, type PersonId, personValidFrom } from '@tessera/directory/ground';

/** Where a person is, and the request. */
export interface Origin {
  readonly ipAddress: string;
  readonly requestId: string;
}

/** Locks the row of a person; whether they may sign in. */
export async function lockActive(tx: Queryable, { tenantId, userId }: PersonId): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'directory.lock_active_user',
    text: `SELECT u.user_id FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2 AND ${areActive('u', 't')} FOR UPDATE OF u`,
    values: [tenantId, userId],
  });
  return rows.length === 1;
}

/** What a person did to a factor of theirs. */
export function eventOf(
  { tenantId, userId }: PersonId,
  origin: Origin,
  event: string,
  details?: AuditEvent['details'],
): AuditEvent {
  const actor = { type: 'user', id: userId } as const;
  return {
    ...origin,
    event,
    outcome: 'success',
    tenantId,
    subject: userId,
    actor,
    ...(details && { details }),
  };
}

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
