import type { Queryable } from '@tessera/stores';
import { resourceColumns, type ResourceRecord } from './fields.ts';

/** All API resources of a tenant, with their scopes. */
export async function readResources(tx: Queryable, tenantId: string): Promise<ResourceRecord[]> {
  const { rows } = await tx.query({
    name: 'directory.read_resources',
    text: `SELECT ${resourceColumns.selected} FROM directory.api_resource r WHERE r.tenant_id = $1`,
    values: [tenantId],
  });
  return rows.map(resourceColumns.read);
}
