import { adminRoles } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import type { RoleRecord } from './fields.ts';

/**
 * SQL: the roles of tenants that are records. The built-in ones have rows too, where people have them, so that every
 * role of a person refers to a row.
 */
export const roleRecords = `(SELECT xmin, tenant_id, name, owner FROM directory.role
  WHERE name NOT IN (${[...adminRoles.keys()].map((name) => `'${name}'`).join(', ')}))`;

/** All roles of a tenant. */
export async function readRoles(tx: Queryable, tenantId: string): Promise<RoleRecord[]> {
  const { rows } = await tx.query<RoleRecord>({
    name: 'directory.read_roles',
    text: `SELECT ro.name, ro.owner FROM ${roleRecords} ro WHERE ro.tenant_id = $1`,
    values: [tenantId],
  });
  return rows.map(({ name, owner }) => ({ name, owner }));
}
