import type { Database, Queryable } from '@tessera/stores';
import {
  isAdministered,
  isOpenLink,
  noteAdministered,
  appendChanges,
  insertAuditRows,
  lockTenant,
} from '@tessera/directory/ground';
import { newPassword } from '../password/change-password.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/**
 * An `invitation` is for a person who has no password, a `reset` for anybody, `bootstrap` for the first administrator, as long as the
 * tenant has never been administered.
 */
export type LinkPurpose = 'invitation' | 'reset' | 'bootstrap';

/** The person whose password a link sets. */
export interface LinkedPerson {
  readonly tenantId: string;
  readonly tenantName: string;
  readonly userId: string;
  readonly username: string;
  readonly purpose: LinkPurpose;
}

/** A link as it is presented. */
export interface PresentedLink {
  /** SHA-256 of the link. */
  readonly digest: Buffer;
  /** The tenant at whose own issuer it is presented; empty at the shared issuer. */
  readonly tenantId: string;
}

/** SQL: whether a link may be used. $1: digest, $2: tenant of the issuer. */
export const usable = `
  l.digest = $1 AND ${isOpenLink('l', 'u', 't')}
  AND u.status = 'active' AND t.status = 'active'
  AND CASE WHEN $2::text = '' THEN t.issuer = '' ELSE t.tenant_id = $2 END
  AND (l.purpose <> 'bootstrap' OR NOT ${isAdministered('l.tenant_id')})`;

/** SQL: a link (`l`), its person (`u`) and its tenant (`t`). */
export const linked = `
  directory.password_link l
  JOIN directory.user_account u ON u.tenant_id = l.tenant_id AND u.user_id = l.user_id
  JOIN directory.tenant t ON t.tenant_id = l.tenant_id`;

/**
 * Keeps a link in place of an earlier one with its purpose. Call it with the lock on the row of the person. Returns when it expires, in
 * seconds since the Unix epoch.
 */
export async function putLink(
  tx: Queryable,
  link: {
    readonly tenantId: string;
    readonly userId: string;
    readonly purpose: LinkPurpose;
    readonly digest: Buffer;
    readonly lifetimeSeconds: number;
  },
): Promise<number> {
  const { rows } = await tx.query<{ expires_at: number }>({
    name: 'directory.put_password_link',
    text: `INSERT INTO directory.password_link (tenant_id, user_id, purpose, digest, valid_from, expires_at)
           SELECT u.tenant_id, u.user_id, $3, $4, greatest(u.valid_from, t.valid_from),
                  clock_timestamp() + make_interval(secs => $5::float8)
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2
           ON CONFLICT (tenant_id, user_id, purpose) DO UPDATE
              SET digest = excluded.digest, valid_from = excluded.valid_from, expires_at = excluded.expires_at
           RETURNING floor(extract(epoch FROM expires_at))::float8 AS expires_at`,
    values: [link.tenantId, link.userId, link.purpose, link.digest, link.lifetimeSeconds],
  });
  const [row] = rows;
  if (row === undefined) throw new Error('The person of the link does not exist.');
  return row.expires_at;
}

/** Ends the links of a purpose in a tenant. */
export async function endLinks(tx: Queryable, tenantId: string, purpose: LinkPurpose): Promise<void> {
  await tx.query({
    name: 'directory.end_password_links',
    text: 'DELETE FROM directory.password_link WHERE tenant_id = $1 AND purpose = $2',
    values: [tenantId, purpose],
  });
}

/** Undefined for a link that is unknown, used, expired, no longer valid, or of a tenant that the issuer does not serve. */
export async function findLink(
  database: Queryable,
  { digest, tenantId }: PresentedLink,
): Promise<LinkedPerson | undefined> {
  const { rows } = await database.query<LinkRow & { tenant_name: string; username: string }>({
    name: 'directory.find_password_link',
    text: `SELECT l.tenant_id, l.user_id, l.purpose, t.name AS tenant_name, u.username FROM ${linked} WHERE ${usable}`,
    values: [digest, tenantId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    tenantId: row.tenant_id,
    tenantName: row.tenant_name,
    userId: row.user_id,
    username: row.username,
    purpose: row.purpose,
  };
}

/**
 * Uses up a link, sets the password of its person and ends what was issued to them before, in one commit. False if another call was
 * faster, or the link is no longer valid.
 */
export async function redeemLink(
  database: Database,
  runtime: ChangeRuntime,
  {
    digest,
    tenantId,
    person,
    passwordHash,
    ...origin
  }: PresentedLink & {
    readonly person: Pick<LinkedPerson, 'tenantId' | 'purpose'>;
    readonly passwordHash: string;
    readonly ipAddress: string;
    readonly requestId: string;
  },
): Promise<boolean> {
  return database.transaction(async (tx) => {
    // Of several first administrators, one becomes it.
    await lockTenant(tx, person.tenantId, person.purpose === 'bootstrap' ? 'alone' : 'together');
    // The row of the person is locked first, as by every other change of the person.
    const { rows } = await tx.query<LinkRow>({
      name: 'directory.redeem_password_link',
      text: `WITH person AS (
               SELECT u.tenant_id, u.user_id FROM ${linked} WHERE ${usable} FOR UPDATE OF u
             ), used AS (
               DELETE FROM directory.password_link l USING person
                WHERE l.digest = $1 AND l.tenant_id = person.tenant_id AND l.user_id = person.user_id
               RETURNING l.tenant_id, l.user_id, l.purpose
             )
             UPDATE directory.user_account u SET ${newPassword('$3')}
               FROM used WHERE u.tenant_id = used.tenant_id AND u.user_id = used.user_id
             RETURNING used.tenant_id, used.user_id, used.purpose`,
      values: [digest, tenantId, passwordHash],
    });
    const [used] = rows;
    if (used === undefined) return false;
    const { tenant_id: usedTenant, user_id: subject, purpose } = used;
    const event = {
      ...origin,
      outcome: 'success',
      tenantId: usedTenant,
      subject,
      actor: { type: 'user', id: subject },
    } as const;
    await insertAuditRows(
      tx,
      [
        { ...event, event: 'auth.link.used', details: { purpose } },
        { ...event, event: 'auth.credential.changed' },
      ],
      runtime,
    );
    // Invited people had no password.
    if (purpose === 'reset')
      await runtime.announce(tx, { tenantId: usedTenant, userId: subject }, 'password');
    await noteAdministered(tx, usedTenant);
    await appendChanges(tx, [{ kind: 'user', tenantId: usedTenant, id: subject, endsAll: true }]);
    return true;
  });
}

/** Removes up to `limit` expired links. Returns how many it removed. */
export async function purgeLinks(database: Queryable, limit: number): Promise<number> {
  const { rowCount } = await database.query({
    name: 'directory.purge_password_links',
    text: `DELETE FROM directory.password_link WHERE (tenant_id, user_id, purpose) IN (
             SELECT tenant_id, user_id, purpose FROM directory.password_link
              WHERE expires_at <= statement_timestamp() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    values: [limit],
  });
  return rowCount;
}

interface LinkRow {
  readonly tenant_id: string;
  readonly user_id: string;
  readonly purpose: LinkPurpose;
}
