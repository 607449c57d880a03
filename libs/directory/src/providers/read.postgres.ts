import type { Queryable } from '@tessera/stores';
import { providerColumns, type ProviderRecord } from './fields.ts';

/** All providers of a tenant. */
export async function readProviders(tx: Queryable, tenantId: string): Promise<ProviderRecord[]> {
  const { rows } = await tx.query({
    name: 'directory.read_providers',
    text: `SELECT ${providerColumns.selected} FROM directory.provider p WHERE p.tenant_id = $1`,
    values: [tenantId],
  });
  return rows.map(providerColumns.read);
}
