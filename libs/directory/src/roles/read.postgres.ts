import type { Queryable } from '@tessera/stores';

/** The names of the roles of a tenant. */
export async function readRoles(tx: Queryable, tenantId: string): Promise<string[]> {
  const { rows } = await tx.query<{ name: string }>({
    name: 'directory.read_roles',
    text: 'SELECT name FROM directory.role WHERE tenant_id = $1',
    values: [tenantId],
  });
  return rows.map((row) => row.name);
}
