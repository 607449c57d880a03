import { recordKinds } from '../fields/record-kinds.ts';
import { planDeletions } from '../plans/plan-record.ts';
import type { TenantPlan } from '../plans/plan.ts';
import { readProviders } from '../providers/read.postgres.ts';
import { listRecords } from '../store/read-records.postgres.ts';
import type { RecordTransaction } from '../store/store.ts';
import type { TenantRecord } from '../tenants/fields.ts';
import type { TenantContents } from '../tenants/read.postgres.ts';

/** Deleted in one transaction: some hundred milliseconds, for which other changes of the tenant wait. */
const atOnce = 500;

/** What refers to others comes before them. */
const order = ['application', 'user', 'resource', 'role'] as const;

/** The plan that deletes the next records of a tenant, and disables it; undefined if it has none. */
export async function nextDeletions(
  { tx, tenantId }: RecordTransaction,
  tenant: TenantRecord,
): Promise<TenantPlan | undefined> {
  const after: TenantRecord = { ...tenant, status: 'disabled' };
  for (const kind of order) {
    const { records } = await listRecords(tx, kind, tenantId, { after: '', search: '', size: atOnce });
    const found = records.map(({ record }) => record);
    if (found.length > 0) return planDeletions(tenant, { [recordKinds[kind].list]: found }, after);
  }
  const providers = await readProviders(tx, tenantId);
  return providers.length === 0 ? undefined : planDeletions(tenant, { providers }, after);
}

/** How many records of each kind a plan deletes. */
export function deletedBy({ users, applications, resources, roles, providers }: TenantPlan): TenantContents {
  return {
    people: users.deleted.length,
    applications: applications.deleted.length,
    resources: resources.deleted.length,
    roles: roles.deleted.length,
    providers: providers.deleted.length,
  };
}
