import type { AuditEvent } from '@tessera/audit';
import type { Database, Queryable } from '@tessera/stores';
import { areActive, lockTenant, type PersonId } from '@tessera/directory/ground';

/** Where a person is, and the request. */
export interface Origin {
  readonly ipAddress: string;
  readonly requestId: string;
}

/**
 * Runs the change of a person who may sign in, in a transaction with the locks of every change of one person: the lock
 * of the tenant, together with others, and then the row of the person. Returns `otherwise` for one who may not sign in.
 */
export async function ofActive<T, const O>(
  database: Database,
  person: PersonId,
  otherwise: O,
  work: (tx: Queryable) => Promise<T>,
): Promise<T | O> {
  return database.transaction(async (tx) => {
    await lockTenant(tx, person.tenantId, 'together');
    return (await lockActive(tx, person)) ? work(tx) : otherwise;
  });
}

async function lockActive(tx: Queryable, { tenantId, userId }: PersonId): Promise<boolean> {
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
