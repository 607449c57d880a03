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
