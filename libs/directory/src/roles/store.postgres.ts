import type { Queryable } from '@tessera/stores';
import type { Write } from '../store/valid-from.ts';

/** The names of the roles of a tenant. */
export async function readRoles(tx: Queryable, tenantId: string): Promise<string[]> {
  const { rows } = await tx.query<{ name: string }>({
    name: 'directory.read_roles',
    text: 'SELECT name FROM directory.role WHERE tenant_id = $1',
    values: [tenantId],
  });
  return rows.map((row) => row.name);
}

/** Adds roles, by their names. */
export async function createRoles(write: Write, names: readonly string[]): Promise<void> {
  await write(
    'put_roles',
    'INSERT INTO directory.role (tenant_id, name) SELECT $1, unnest($2::text[])',
    names,
  );
}

/** Deletes roles that no user has. */
export async function deleteRoles(write: Write, names: readonly string[]): Promise<void> {
  await write(
    'delete_roles',
    'DELETE FROM directory.role WHERE tenant_id = $1 AND name = ANY($2::text[])',
    names,
  );
}
