import type { Queryable } from '@tessera/stores';
import { readAllOf } from '../fields/record-table.ts';
import type { ResourceRecord } from './fields.ts';
import { resourceTable } from './table.postgres.ts';

/** All API resources of a tenant, with their scopes. */
export async function readResources(tx: Queryable, tenantId: string): Promise<ResourceRecord[]> {
  return readAllOf(tx, 'resources', resourceTable, tenantId);
}
