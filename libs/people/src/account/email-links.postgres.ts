import { createHash } from 'node:crypto';
import type { Queryable } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';

/** Keeps the link that confirms an address of a person, in place of an earlier one. Call it with the lock on the row of the person. */
export async function putEmailLink(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  {
    link,
    email,
    lifetimeSeconds,
  }: { readonly link: string; readonly email: string; readonly lifetimeSeconds: number },
): Promise<void> {
  await tx.query({
    name: 'directory.put_email_link',
    text: `INSERT INTO directory.email_link (tenant_id, user_id, digest, email, expires_at)
           VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5::float8))
           ON CONFLICT (tenant_id, user_id) DO UPDATE
              SET digest = excluded.digest, email = excluded.email, expires_at = excluded.expires_at`,
    values: [tenantId, userId, digestOf(link), email, lifetimeSeconds],
  });
}

/** The address that a link of a person confirms; undefined for one that is unknown, used, expired or of somebody else. */
export async function findEmailLink(
  database: Queryable,
  { tenantId, userId }: PersonId,
  link: string,
): Promise<string | undefined> {
  const { rows } = await database.query<{ email: string }>({
    name: 'directory.find_email_link',
    text: `SELECT email FROM directory.email_link
            WHERE tenant_id = $1 AND user_id = $2 AND digest = $3 AND expires_at > clock_timestamp()`,
    values: [tenantId, userId, digestOf(link)],
  });
  return rows[0]?.email;
}

/** As `findEmailLink`, and uses the link up: of any number of callers one gets the address. */
export async function takeEmailLink(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  link: string,
): Promise<string | undefined> {
  const { rows } = await tx.query<{ email: string }>({
    name: 'directory.take_email_link',
    text: `DELETE FROM directory.email_link
            WHERE tenant_id = $1 AND user_id = $2 AND digest = $3 AND expires_at > clock_timestamp() RETURNING email`,
    values: [tenantId, userId, digestOf(link)],
  });
  return rows[0]?.email;
}

/** Removes up to `limit` expired links. Returns how many it removed. */
export async function purgeEmailLinks(database: Queryable, limit: number): Promise<number> {
  const { rowCount } = await database.query({
    name: 'directory.purge_email_links',
    text: `DELETE FROM directory.email_link WHERE (tenant_id, user_id) IN (
             SELECT tenant_id, user_id FROM directory.email_link
              WHERE expires_at <= statement_timestamp() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    values: [limit],
  });
  return rowCount;
}

function digestOf(link: string): Buffer {
  return createHash('sha256').update(link).digest();
}
