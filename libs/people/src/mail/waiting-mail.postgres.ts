import type { Queryable } from '@tessera/stores';

/** A mail that waits, as it is shown. Times are milliseconds since the Unix epoch. */
export interface WaitingMail {
  readonly mailId: string;
  /** Empty if nobody has an account yet. */
  readonly userId: string;
  /** Empty as `userId`. */
  readonly username: string;
  readonly kind: string;
  readonly createdAt: number;
  readonly dueAt: number;
  readonly expiresAt: number;
  /** Those that began. */
  readonly attempts: number;
  /** Empty if no attempt failed. */
  readonly lastError: string;
}

/** Which mail of a tenant. */
export interface MailScope {
  readonly tenantId: string;
  /** Of this person; undefined: of everybody. */
  readonly userId: string | undefined;
  /** Empty: both. */
  readonly state: '' | 'waiting' | 'failed';
}

/** Where a list goes on; empty texts are before all mail. */
type MailPosition = Pick<WaitingMail, 'userId' | 'mailId'>;

interface WaitingRow {
  readonly mail_id: string;
  readonly user_id: string;
  readonly username: string;
  readonly kind: string;
  readonly times: { readonly created: number; readonly due: number; readonly expires: number };
  readonly attempts: number;
  readonly last_error: string;
}

/** $1 tenant, $2 state, $3 user and $4 mail after which to continue, $5 limit */
const list = (whose: string) => `
  SELECT m.mail_id, m.user_id, coalesce(u.username, '') AS username, m.kind, m.claim - m.uncounted AS attempts,
         coalesce(m.last_error, '') AS last_error,
         jsonb_build_object('created', round(extract(epoch FROM m.created_at) * 1000),
           'due', round(extract(epoch FROM m.due_at) * 1000),
           'expires', round(extract(epoch FROM m.expires_at) * 1000)) AS times
    FROM directory.mail m
    LEFT JOIN directory.user_account u ON u.tenant_id = m.tenant_id AND u.user_id = m.user_id
   WHERE m.tenant_id = $1 ${whose} AND ($2::text = '' OR (m.last_error IS NOT NULL) = ($2 = 'failed'))
     AND (m.user_id, m.mail_id) > ($3::text, $4::text)
   ORDER BY m.user_id, m.mail_id LIMIT $5::int`;
const listOfTenant = list('');
/** $6 user */
const listOfPerson = list('AND m.user_id = $6');

/** In the order of the people. */
export async function listMail(
  database: Queryable,
  { tenantId, userId, state }: MailScope,
  after: MailPosition,
  limit: number,
): Promise<WaitingMail[]> {
  const values = [tenantId, state, after.userId, after.mailId, limit];
  const { rows } = await database.query<WaitingRow>(
    userId === undefined
      ? { name: 'directory.mail_of_tenant', text: listOfTenant, values }
      : { name: 'directory.mail_of_person', text: listOfPerson, values: [...values, userId] },
  );
  return rows.map((row) => ({
    mailId: row.mail_id,
    userId: row.user_id,
    username: row.username,
    kind: row.kind,
    createdAt: row.times.created,
    dueAt: row.times.due,
    expiresAt: row.times.expires,
    attempts: row.attempts,
    lastError: row.last_error,
  }));
}

/** A mail that no process claims before the transaction ends. */
interface LockedMail extends Pick<WaitingMail, 'userId' | 'kind' | 'attempts'> {
  /** Whether a process is sending it just now. */
  readonly isBeingSent: boolean;
}

/** Undefined for mail that does not wait, or is of another tenant. */
export async function lockMail(
  tx: Queryable,
  { tenantId, mailId }: { readonly tenantId: string; readonly mailId: string },
): Promise<LockedMail | undefined> {
  const { rows } = await tx.query<{ user_id: string; kind: string; attempts: number; sending: boolean }>({
    name: 'directory.lock_mail',
    text: `SELECT user_id, kind, claim - uncounted AS attempts,
                  coalesce(sending_until > clock_timestamp(), false) AS sending
             FROM directory.mail WHERE tenant_id = $1 AND mail_id = $2 FOR UPDATE`,
    values: [tenantId, mailId],
  });
  const [found] = rows;
  if (found === undefined) return undefined;
  return { userId: found.user_id, kind: found.kind, attempts: found.attempts, isBeingSent: found.sending };
}

/** Deletes a mail that the transaction has locked. */
export async function deleteMail(tx: Queryable, mailId: string): Promise<void> {
  await tx.query({
    name: 'directory.delete_mail',
    text: 'DELETE FROM directory.mail WHERE mail_id = $1',
    values: [mailId],
  });
}
