import { createHash } from 'node:crypto';
import type { Queryable } from '@tessera/stores';
import { normalizeIdentifier } from '@tessera/directory/records';

/** Somebody who may make an account with an address that they have proven theirs. */
export interface Registering {
  readonly tenantId: string;
  readonly tenantName: string;
  readonly email: string;
}

/** A link as it is presented. */
interface PresentedLink {
  readonly link: string;
  /** The tenant at whose own issuer it is presented; empty at the shared issuer. */
  readonly tenantId: string;
}

/** Keeps the link with which an account is made, in place of an earlier one for the address. */
export async function putRegistrationLink(
  tx: Queryable,
  made: {
    readonly tenantId: string;
    readonly email: string;
    readonly link: string;
    readonly lifetimeSeconds: number;
  },
): Promise<void> {
  const { tenantId, email, link, lifetimeSeconds } = made;
  await tx.query({
    name: 'directory.put_registration_link',
    text: `INSERT INTO directory.registration_link (tenant_id, identifier, digest, email, expires_at)
           VALUES ($1, $2, $3, $4, clock_timestamp() + make_interval(secs => $5::float8))
           ON CONFLICT (tenant_id, identifier) DO UPDATE
              SET digest = excluded.digest, email = excluded.email, expires_at = excluded.expires_at`,
    values: [tenantId, normalizeIdentifier(email), digestOf(link), email, lifetimeSeconds],
  });
}

/** Undefined for a link that is unknown, used, expired, or of a tenant that the issuer does not serve. */
export async function findRegistrationLink(
  database: Queryable,
  { link, tenantId }: PresentedLink,
): Promise<Registering | undefined> {
  const { rows } = await database.query<{ tenant_id: string; tenant_name: string; email: string }>({
    name: 'directory.find_registration_link',
    text: `SELECT l.tenant_id, t.name AS tenant_name, l.email
             FROM directory.registration_link l JOIN directory.tenant t ON t.tenant_id = l.tenant_id
            WHERE l.digest = $1 AND l.expires_at > clock_timestamp() AND t.status = 'active'
              AND CASE WHEN $2::text = '' THEN t.issuer = '' ELSE t.tenant_id = $2 END`,
    values: [digestOf(link), tenantId],
  });
  const [row] = rows;
  return row && { tenantId: row.tenant_id, tenantName: row.tenant_name, email: row.email };
}

/** Uses a link up: true for exactly one of any number of callers. */
export async function takeRegistrationLink(tx: Queryable, tenantId: string, link: string): Promise<boolean> {
  const { rowCount } = await tx.query({
    name: 'directory.take_registration_link',
    text: `DELETE FROM directory.registration_link
            WHERE tenant_id = $1 AND digest = $2 AND expires_at > clock_timestamp()`,
    values: [tenantId, digestOf(link)],
  });
  return rowCount === 1;
}

/** Removes up to `limit` expired links. Returns how many it removed. */
export async function purgeRegistrationLinks(database: Queryable, limit: number): Promise<number> {
  const { rowCount } = await database.query({
    name: 'directory.purge_registration_links',
    text: `DELETE FROM directory.registration_link WHERE (tenant_id, identifier) IN (
             SELECT tenant_id, identifier FROM directory.registration_link
              WHERE expires_at <= statement_timestamp() ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    values: [limit],
  });
  return rowCount;
}

function digestOf(link: string): Buffer {
  return createHash('sha256').update(link).digest();
}
