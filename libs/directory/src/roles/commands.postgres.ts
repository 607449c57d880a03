import type { Command } from '../ground/command.ts';
import type { RoleRecord } from './fields.ts';

/** Adds roles, or gives them another owner. */
export function putRoles(put: readonly RoleRecord[]): Command {
  return async (write) => {
    await write(
      'put_roles',
      `INSERT INTO directory.role (tenant_id, name, owner)
     SELECT $1, r.name, r.owner FROM jsonb_to_recordset($2::jsonb) AS r(name text, owner text)
     ON CONFLICT (tenant_id, name) DO UPDATE SET owner = excluded.owner`,
      JSON.stringify(put),
    );
  };
}

/** Deletes roles that no user has. */
export function deleteRoles(names: readonly string[]): Command {
  return async (write) => {
    await write(
      'delete_roles',
      'DELETE FROM directory.role WHERE tenant_id = $1 AND name = ANY($2::text[])',
      names,
    );
  };
}
