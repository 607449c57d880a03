import { notingAdministered } from '../ground/administered.postgres.ts';
import type { Command } from '../ground/command.ts';
import { providerColumns, type ProviderRecord } from './fields.ts';

const { names: columns, values, definitions, updates } = providerColumns;

/** Creates or changes providers. Another issuer takes a way in from who was known by the former one. */
export function putProviders(put: readonly ProviderRecord[]): Command {
  return async (write) => {
    await notingAdministered(write);
    await write(
      'put_providers',
      `INSERT INTO directory.provider (tenant_id, ${columns})
     SELECT $1, ${values} FROM jsonb_to_recordset($2::jsonb) AS p(${definitions})
     ON CONFLICT (tenant_id, name) DO UPDATE SET ${updates}`,
      JSON.stringify(put),
    );
  };
}

/** Deletes providers by their names. */
export function deleteProviders(names: readonly string[]): Command {
  return async (write) => {
    await notingAdministered(write);
    await write(
      'delete_providers',
      'DELETE FROM directory.provider WHERE tenant_id = $1 AND name = ANY($2::text[])',
      names,
    );
  };
}
