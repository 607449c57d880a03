import type { Command } from '../ground/command.ts';
import { resourceColumns, type ResourceRecord } from './fields.ts';

const { names, values, definitions, updates } = resourceColumns;

/** Creates or changes resources, with their scopes. A scope moves here from another resource of the tenant. */
export function putResources(put: readonly ResourceRecord[]): Command {
  const scopes = put.flatMap(({ audience, scopes: declared }) =>
    declared.map((scope, position) => ({ ...scope, audience, position })),
  );
  return async (write) => {
    await write(
      'put_resources',
      `INSERT INTO directory.api_resource (tenant_id, ${names})
     SELECT $1, ${values} FROM jsonb_to_recordset($2::jsonb) AS r(${definitions})
     ON CONFLICT (tenant_id, audience) DO UPDATE SET ${updates}`,
      JSON.stringify(put),
    );
    await write(
      'put_scopes',
      `INSERT INTO directory.scope (tenant_id, name, audience, description, descriptions, position)
     SELECT $1, s.name, s.audience, s.description, s.descriptions, s.position
       FROM jsonb_to_recordset($2::jsonb)
         AS s(name text, audience text, description text, descriptions jsonb, position integer)
     ON CONFLICT (tenant_id, name) DO UPDATE
        SET audience = excluded.audience, description = excluded.description,
            descriptions = excluded.descriptions, position = excluded.position`,
      JSON.stringify(scopes),
    );
    await write(
      'delete_scopes',
      `DELETE FROM directory.scope
      WHERE tenant_id = $1 AND audience = ANY($2::text[]) AND name <> ALL($3::text[])`,
      put.map(({ audience }) => audience),
      scopes.map(({ name }) => name),
    );
  };
}

/** Deletes resources with the scopes that they still have, by their audiences. */
export function deleteResources(audiences: readonly string[]): Command {
  return async (write) => {
    await write(
      'delete_scopes_of_resources',
      'DELETE FROM directory.scope WHERE tenant_id = $1 AND audience = ANY($2::text[])',
      audiences,
    );
    await write(
      'delete_resources',
      'DELETE FROM directory.api_resource WHERE tenant_id = $1 AND audience = ANY($2::text[])',
      audiences,
    );
  };
}
