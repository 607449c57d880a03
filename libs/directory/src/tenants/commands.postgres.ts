import { statusChanged, validFromAfter, type Command } from '../store/command.ts';
import { tenantColumns, type TenantRecord } from './fields.ts';

const { names, values, definitions, updates } = tenantColumns;

/** Creates or changes a tenant. */
export function putTenant(tenant: TenantRecord): Command {
  return async (write) => {
    await write(
      'put_tenant',
      `INSERT INTO directory.tenant AS present (${names})
     SELECT ${values} FROM jsonb_to_recordset($2::jsonb) AS t(${definitions}) WHERE t."tenantId" = $1
     ON CONFLICT (tenant_id) DO UPDATE
        SET ${updates},
            valid_from = ${validFromAfter(statusChanged)}, updated_at = clock_timestamp()`,
      JSON.stringify([tenant]),
    );
  };
}
