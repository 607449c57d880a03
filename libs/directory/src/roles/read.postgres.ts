import type { Queryable } from '@tessera/stores';
import type { RoleRecord } from './fields.ts';

/** All roles of a tenant. */
export async function readRoles(tx: Queryable, tenantId: string): Promise<RoleRecord[]> {
  const { rows } = await tx.query<RoleRecord>({
    name: 'directory.read_roles',
    text: 'SELECT name, owner FROM directory.role WHERE tenant_id = $1',
    values: [tenantId],
  });
  return rows.map(({ name, owner }) => ({ name, owner }));
}
