import { adminRoles } from '@tessera/oauth';
import { notingAdministered } from '../ground/administered.postgres.ts';
import { tenantValidFrom } from '../ground/valid-from.ts';
import type { Command } from '../ground/command.ts';
import { tenantColumns, type TenantRecord } from './fields.ts';

const { names, values, definitions, updates } = tenantColumns;

/** Creates or changes a tenant. */
export function putTenant(tenant: TenantRecord): Command {
  return async (write) => {
    await write(
      'put_tenant',
      `INSERT INTO directory.tenant AS present (${names}, valid_from)
     SELECT ${values},
            CASE WHEN EXISTS (SELECT FROM directory.former_tenant f WHERE f.tenant_id = $1)
                 THEN ${tenantValidFrom('$1')} ELSE 0 END
       FROM jsonb_to_recordset($2::jsonb) AS t(${definitions}) WHERE t."tenantId" = $1
     ON CONFLICT (tenant_id) DO UPDATE
        SET ${updates}, updated_at = clock_timestamp()`,
      JSON.stringify([tenant]),
    );
  };
}

/** Ends everything that was issued in a tenant; after its change, which locks it. */
export function endTenant(): Command {
  return async (write) => {
    await write(
      'end_tenant',
      `UPDATE directory.tenant SET valid_from = ${tenantValidFrom('$1')} WHERE tenant_id = $1`,
    );
  };
}

/**
 * Deletes a tenant that has no records, for good. One that is made again under its identifier gets back nothing issued
 * before, and nobody who was deleted.
 */
export function deleteTenant(): Command {
  return async (write) => {
    await notingAdministered(write);
    await write(
      'delete_former_applications',
      'DELETE FROM directory.former_application WHERE tenant_id = $1',
    );
    await write('forget_passkeys', 'DELETE FROM directory.passkey WHERE tenant_id = $1');
    await write('forget_second_factors', 'DELETE FROM directory.totp WHERE tenant_id = $1');
    await write('forget_recovery_codes', 'DELETE FROM directory.recovery_code WHERE tenant_id = $1');
    await write('forget_given_user_ids', 'DELETE FROM directory.given_user_id WHERE tenant_id = $1');
    await write('forget_deleted_records', 'DELETE FROM directory.deleted_record WHERE tenant_id = $1');
    await write(
      'delete_built_in_roles',
      'DELETE FROM directory.role WHERE tenant_id = $1 AND name = ANY($2::text[])',
      [...adminRoles.keys()],
    );
    await write(
      'delete_tenant',
      `WITH deleted AS (DELETE FROM directory.tenant WHERE tenant_id = $1 RETURNING tenant_id)
     INSERT INTO directory.former_tenant (tenant_id) SELECT tenant_id FROM deleted
     ON CONFLICT (tenant_id) DO UPDATE SET deleted_at = excluded.deleted_at`,
    );
  };
}
