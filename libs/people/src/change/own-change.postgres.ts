import type { AuditEvent } from '@tessera/audit';
import type { Database, Queryable } from '@tessera/stores';
import { lockTenant, signInCounts, type PersonId } from '@tessera/directory/ground';
import type { RecordTransaction, UserRecord } from '@tessera/directory/records';

/** Where a person is, and the request. */
export interface Origin {
  readonly ipAddress: string;
  readonly requestId: string;
}

/** A person who changes what is theirs. */
export interface SignedInPerson extends PersonId {
  /** When they signed in, in seconds since the Unix epoch; 0 from a caller that does not say. */
  readonly authTime: bigint;
}

/**
 * Runs the change of a person whose sign-in counts, in a transaction with the locks of every change of one person: the
 * lock of the tenant, together with others, and then the row of the person. Returns `otherwise` if it does not count.
 */
export async function ofSignedIn<T, const O>(
  database: Database,
  person: SignedInPerson,
  otherwise: O,
  work: (tx: Queryable) => Promise<T>,
): Promise<T | O> {
  return database.transaction(async (tx) => {
    await lockTenant(tx, person.tenantId, 'together');
    return (await lockSignedIn(tx, person)) ? work(tx) : otherwise;
  });
}

/** The record of a person whose sign-in counts, locked as by `ofSignedIn`; undefined if it does not count. */
export async function ownRecord(
  { tx, find }: Pick<RecordTransaction, 'tx' | 'find'>,
  person: SignedInPerson,
): Promise<UserRecord | undefined> {
  return (await lockSignedIn(tx, person)) ? (await find('user', person.userId))?.record : undefined;
}

/** Whether a sign-in counts, which then holds until the commit: what ends it waits, and comes after the change. */
async function lockSignedIn(tx: Queryable, { tenantId, userId, authTime }: SignedInPerson): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'directory.lock_signed_in_user',
    text: `SELECT u.user_id FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2 AND ${signInCounts('u', 't', '$3::bigint')}
              FOR UPDATE OF u FOR SHARE OF t`,
    values: [tenantId, userId, authTime],
  });
  return rows.length === 1;
}

/** A person who changes what is theirs, and the request. */
export function byThemselves({ userId: id }: PersonId, origin: Origin): Origin & Pick<AuditEvent, 'actor'> {
  return { ...origin, actor: { type: 'user', id } };
}

/** What a person did to a factor of theirs. */
export function eventOf(
  person: PersonId,
  origin: Origin,
  event: string,
  details?: AuditEvent['details'],
): AuditEvent {
  const { tenantId, userId: subject } = person;
  const by = byThemselves(person, origin);
  return { ...by, event, outcome: 'success', tenantId, subject, ...(details && { details }) };
}
