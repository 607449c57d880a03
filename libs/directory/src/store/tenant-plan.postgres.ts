import type { Queryable } from '@tessera/stores';
import { writeApplications } from '../applications/write.postgres.ts';
import { isEmpty, type TenantPlan } from '../apply/plan.ts';
import { writeResources } from '../resources/write.postgres.ts';
import { createRoles, deleteRoles } from '../roles/store.postgres.ts';
import { putTenant } from '../tenants/write.postgres.ts';
import { writeUsers } from '../users/write.postgres.ts';
import type { Write } from './valid-from.ts';

/**
 * Writes a plan, one statement per table and not per row. The order keeps every foreign key: what refers goes before
 * what it refers to, and comes after it.
 */
export async function writeTenantPlan(tx: Queryable, plan: TenantPlan): Promise<void> {
  const { tenantId } = plan.desired.tenant;
  const write: Write = (name, text, ...values) =>
    tx.query({ name: `directory.${name}`, text, values: [tenantId, ...values] });
  if (plan.tenant !== 'unchanged') await putTenant(write, plan.desired.tenant);
  if (plan.roles.created.length > 0) await createRoles(write, plan.roles.created);
  if (!isEmpty(plan.resources)) await writeResources(write, plan);
  if (!isEmpty(plan.applications)) await writeApplications(write, plan.applications);
  if (!isEmpty(plan.users)) await writeUsers(write, plan.users);
  if (plan.roles.deleted.length > 0) await deleteRoles(write, plan.roles.deleted);
}
