import type { Queryable } from '@tessera/stores';
import { readAllOf } from '../fields/record-table.ts';
import type { RoleRecord } from './fields.ts';
import { roleTable } from './table.postgres.ts';

/** All roles of a tenant. */
export async function readRoles(tx: Queryable, tenantId: string): Promise<RoleRecord[]> {
  return readAllOf(tx, 'roles', roleTable, tenantId);
}
