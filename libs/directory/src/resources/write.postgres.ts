import { putOf, type TenantPlan } from '../apply/plan.ts';
import type { Write } from '../store/valid-from.ts';
import { resourceColumns, type ResourceRecord } from './fields.ts';

const { names, values, definitions, updates } = resourceColumns;

/** Scopes may move between resources, so resources come first and go last. */
export async function writeResources(write: Write, { resources, desired }: TenantPlan): Promise<void> {
  const put = putOf(resources);
  const scopes = put.flatMap(({ audience, scopes: declared }: ResourceRecord) =>
    declared.map((scope, position) => ({ ...scope, audience, position })),
  );
  await write(
    'put_resources',
    `INSERT INTO directory.api_resource (tenant_id, ${names})
     SELECT $1, ${values} FROM jsonb_to_recordset($2::jsonb) AS r(${definitions})
     ON CONFLICT (tenant_id, audience) DO UPDATE SET ${updates}`,
    JSON.stringify(put),
  );
  await write(
    'put_scopes',
    `INSERT INTO directory.scope (tenant_id, name, audience, description, position)
     SELECT $1, s.name, s.audience, s.description, s.position
       FROM jsonb_to_recordset($2::jsonb) AS s(name text, audience text, description text, position integer)
     ON CONFLICT (tenant_id, name) DO UPDATE
        SET audience = excluded.audience, description = excluded.description, position = excluded.position`,
    JSON.stringify(scopes),
  );
  await write(
    'delete_scopes',
    'DELETE FROM directory.scope WHERE tenant_id = $1 AND name <> ALL($2::text[])',
    desired.resources.flatMap((resource) => resource.scopes.map(({ name }) => name)),
  );
  await write(
    'delete_resources',
    'DELETE FROM directory.api_resource WHERE tenant_id = $1 AND audience = ANY($2::text[])',
    resources.deleted.map(({ audience }) => audience),
  );
}
