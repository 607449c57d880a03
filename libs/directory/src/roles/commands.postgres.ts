import type { Command } from '../store/command.ts';

/** Adds roles, by their names. */
export function createRoles(names: readonly string[]): Command {
  return async (write) => {
    await write(
      'put_roles',
      'INSERT INTO directory.role (tenant_id, name) SELECT $1, unnest($2::text[])',
      names,
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
