import type { AuditEvent } from '@tessera/audit';
import type { Database, Queryable } from '@tessera/stores';
import { insertAuditRows, type AuditRuntime } from '@tessera/directory/ground';

/** A mail that waits. */
export interface StoredMail {
  readonly mailId: string;
  readonly tenantId: string;
  /** Empty if nobody has an account yet. */
  readonly userId: string;
  readonly kind: string;
  readonly sealed: string;
}

/** A mail that this process alone may send, until its lease ends. */
export interface ClaimedMail extends StoredMail {
  readonly claim: number;
  /** 1 for the first attempt. */
  readonly attempt: number;
  /** Until it is given up; negative afterwards. */
  readonly remainingSeconds: number;
}

/** Keeps a mail in the transaction of what it announces. */
export async function putMail(
  tx: Queryable,
  mail: StoredMail & { readonly delaySeconds: number; readonly lifetimeSeconds: number },
): Promise<void> {
  await tx.query({
    name: 'directory.put_mail',
    text: `INSERT INTO directory.mail (mail_id, tenant_id, user_id, kind, sealed, due_at, expires_at)
           VALUES ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6::float8),
                   clock_timestamp() + make_interval(secs => $7::float8))`,
    values: [
      mail.mailId,
      mail.tenantId,
      mail.userId,
      mail.kind,
      mail.sealed,
      mail.delaySeconds,
      mail.lifetimeSeconds,
    ],
  });
}

/**
 * Claims up to `limit` mails of these kinds that are due, for `leaseSeconds`. A mail has one holder at a time, however
 * many processes claim.
 */
export async function claimMails(
  database: Queryable,
  {
    limit,
    leaseSeconds,
    kinds,
  }: { readonly limit: number; readonly leaseSeconds: number; readonly kinds: readonly string[] },
): Promise<ClaimedMail[]> {
  const { rows } = await database.query<MailRow>({
    name: 'directory.claim_mails',
    text: `WITH free AS MATERIALIZED (
             SELECT mail_id FROM directory.mail WHERE due_at <= statement_timestamp() AND kind = ANY($3::text[])
              ORDER BY due_at LIMIT $1::int FOR UPDATE SKIP LOCKED
           )
           UPDATE directory.mail m
              SET claim = claim + 1, due_at = clock_timestamp() + make_interval(secs => $2::float8),
                  sending_until = clock_timestamp() + make_interval(secs => $2::float8)
             FROM free WHERE m.mail_id = free.mail_id
           RETURNING m.mail_id, m.tenant_id, m.user_id, m.kind, m.sealed, m.claim, m.claim - m.uncounted AS attempt,
                     extract(epoch FROM m.expires_at - clock_timestamp())::float8 AS remaining_seconds`,
    values: [limit, leaseSeconds, kinds],
  });
  return rows.map((row) => ({
    mailId: row.mail_id,
    tenantId: row.tenant_id,
    userId: row.user_id,
    kind: row.kind,
    sealed: row.sealed,
    claim: row.claim,
    attempt: row.attempt,
    remainingSeconds: row.remaining_seconds,
  }));
}

/** Deletes a mail that is done with. False, and nothing is recorded, if another process has claimed it since. */
export async function finishMail(
  database: Database,
  runtime: AuditRuntime,
  mail: Pick<ClaimedMail, 'mailId' | 'claim'>,
  event: AuditEvent,
): Promise<boolean> {
  return database.transaction(async (tx) => {
    if (!(await takeMail(tx, mail))) return false;
    await insertAuditRows(tx, [event], runtime);
    return true;
  });
}

/** Deletes a mail in a transaction; false if another process has claimed it since. */
export async function takeMail(
  tx: Queryable,
  { mailId, claim }: Pick<ClaimedMail, 'mailId' | 'claim'>,
): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'directory.take_mail',
    text: 'DELETE FROM directory.mail WHERE mail_id = $1 AND claim = $2',
    values: [mailId, claim],
  });
  return rowCount === 1;
}

/** Sends it again later, as an attempt failed with `lastError`, in one word; without one the claim was no attempt. */
export async function postponeMail(
  database: Queryable,
  { mailId, claim }: Pick<ClaimedMail, 'mailId' | 'claim'>,
  { delaySeconds, lastError }: { readonly delaySeconds: number; readonly lastError?: string | undefined },
): Promise<void> {
  await database.query({
    name: 'directory.postpone_mail',
    text: `UPDATE directory.mail
              SET due_at = clock_timestamp() + make_interval(secs => $3::float8), sending_until = NULL,
                  uncounted = uncounted + CASE WHEN $4::text IS NULL THEN 1 ELSE 0 END,
                  last_error = coalesce($4, last_error)
            WHERE mail_id = $1 AND claim = $2`,
    values: [mailId, claim, delaySeconds, lastError ?? null],
  });
}

/** Counts one more mail to an address, if it is within `limit` in the hour that began with the first. */
export async function countMail(
  tx: Queryable,
  {
    tenantId,
    recipient,
    limit,
  }: { readonly tenantId: string; readonly recipient: Buffer; readonly limit: number },
): Promise<boolean> {
  const isOver = `q.since <= clock_timestamp() - interval '1 hour'`;
  const { rowCount } = await tx.query({
    name: 'directory.count_mail',
    text: `INSERT INTO directory.mail_quota AS q (tenant_id, recipient, since, mails)
           VALUES ($1, $2, clock_timestamp(), 1)
           ON CONFLICT (tenant_id, recipient) DO UPDATE
              SET mails = CASE WHEN ${isOver} THEN 1 ELSE q.mails + 1 END,
                  since = CASE WHEN ${isOver} THEN excluded.since ELSE q.since END
            WHERE ${isOver} OR q.mails < $3`,
    values: [tenantId, recipient, limit],
  });
  return rowCount === 1;
}

/** How many mails are due, and for how long the oldest has been waiting. */
export async function mailBacklog(
  database: Queryable,
): Promise<{ readonly count: number; readonly oldestSeconds: number }> {
  const { rows } = await database.query<{ count: number; oldest_seconds: number }>({
    name: 'directory.mail_backlog',
    text: `SELECT count(*)::int AS count,
                  coalesce(extract(epoch FROM clock_timestamp() - min(created_at)), 0)::float8 AS oldest_seconds
             FROM (SELECT created_at FROM directory.mail ORDER BY due_at LIMIT 10000) AS waiting`,
  });
  return { count: rows[0]?.count ?? 0, oldestSeconds: rows[0]?.oldest_seconds ?? 0 };
}

/**
 * Removes up to `limit` mails that nobody has sent for a day after they expired, and counts that are over. Returns how
 * many it removed.
 */
export async function purgeMail(database: Queryable, limit: number): Promise<number> {
  const mails = await database.query({
    name: 'directory.purge_mail',
    text: `DELETE FROM directory.mail WHERE mail_id IN (
             SELECT mail_id FROM directory.mail WHERE expires_at <= statement_timestamp() - interval '1 day'
              ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    values: [limit],
  });
  const counts = await database.query({
    name: 'directory.purge_mail_quota',
    text: `DELETE FROM directory.mail_quota WHERE (tenant_id, recipient) IN (
             SELECT tenant_id, recipient FROM directory.mail_quota WHERE since <= statement_timestamp() - interval '1 hour'
              ORDER BY since LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    values: [limit],
  });
  return Math.max(mails.rowCount, counts.rowCount);
}

interface MailRow {
  readonly mail_id: string;
  readonly tenant_id: string;
  readonly user_id: string;
  readonly kind: string;
  readonly sealed: string;
  readonly claim: number;
  readonly attempt: number;
  readonly remaining_seconds: number;
}
