import { administratorRole } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import type { Command } from './command.ts';
import { hasNoWayIn, isOpenLink } from './ways-in.postgres.ts';

/**
 * SQL: whether an administrator of a tenant has a way in, or a link to begin with, other than that of a first
 * administrator. One who is disabled counts: they administer again as soon as somebody activates them.
 */
function hasWayIn(tenantId: string): string {
  return `EXISTS (SELECT FROM directory.user_role r
                    JOIN directory.user_account a ON a.tenant_id = r.tenant_id AND a.user_id = r.user_id
                    JOIN directory.tenant o ON o.tenant_id = a.tenant_id
                   WHERE r.tenant_id = ${tenantId} AND r.role = '${administratorRole}'
                     AND (NOT ${hasNoWayIn('a')}
                          OR EXISTS (SELECT FROM directory.password_link w
                                      WHERE w.tenant_id = a.tenant_id AND w.user_id = a.user_id AND w.purpose <> 'bootstrap'
                                        AND ${isOpenLink('w', 'a', 'o')})))`;
}

/** SQL: whether a tenant is administered, or has been. */
export function isAdministered(tenantId: string): string {
  return `(EXISTS (SELECT FROM directory.administered d WHERE d.tenant_id = ${tenantId}) OR ${hasWayIn(tenantId)})`;
}

/** SQL: remembers that the tenant $1 is administered, if it is. */
const note = `
  INSERT INTO directory.administered (tenant_id)
  SELECT $1::text WHERE NOT EXISTS (SELECT FROM directory.administered WHERE tenant_id = $1) AND ${hasWayIn('$1')}
  ON CONFLICT DO NOTHING`;

/** For a change by which administrators, or their ways in, come or go. */
export const notingAdministered: Command = async (write) => {
  await write('note_administered', note);
};

/**
 * Whether a tenant is administered, or has been, which is remembered with the transaction. With the tenant's lock alone
 * it stays so until the commit.
 */
export async function noteAdministered(tx: Queryable, tenantId: string): Promise<boolean> {
  await tx.query({ name: 'directory.note_administered', text: note, values: [tenantId] });
  const { rowCount } = await tx.query({
    name: 'directory.is_administered',
    text: 'SELECT FROM directory.administered WHERE tenant_id = $1',
    values: [tenantId],
  });
  return rowCount > 0;
}
