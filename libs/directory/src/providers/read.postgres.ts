import type { Queryable } from '@tessera/stores';
import { readAllOf } from '../fields/record-table.ts';
import { providerColumns, type ProviderRecord } from './fields.ts';
import { providerTable } from './table.postgres.ts';

/** All providers of a tenant. */
export async function readProviders(tx: Queryable, tenantId: string): Promise<ProviderRecord[]> {
  return readAllOf(tx, 'providers', providerTable, tenantId);
}

/** A provider that stays as it is until the commit; undefined if there is none. */
export async function lockProvider(
  tx: Queryable,
  tenantId: string,
  name: string,
): Promise<ProviderRecord | undefined> {
  const { rows } = await tx.query({
    name: 'directory.lock_provider',
    text: `SELECT ${providerColumns.selected} FROM directory.provider p
            WHERE p.tenant_id = $1 AND p.name = $2 FOR SHARE`,
    values: [tenantId, name],
  });
  return rows[0] && providerColumns.read(rows[0]);
}
