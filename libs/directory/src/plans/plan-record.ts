import { byList, recordKinds, type RecordKind, type RecordOf } from '../record-kinds.ts';
import type { TenantRecord } from '../tenants/fields.ts';
import { planTenant, type TenantPlan } from './plan.ts';
import type { PresentState } from './tenant-state.ts';

const nothing: Omit<PresentState, 'tenant'> = {
  ...byList<readonly never[]>(() => []),
  known: [],
  proven: [],
};

/** The plan that turns one record into another. Undefined: it does not exist. */
export function planRecord<K extends RecordKind>(
  tenant: TenantRecord | undefined,
  kind: K,
  before: RecordOf[K] | undefined,
  after: RecordOf[K] | undefined,
): TenantPlan {
  const stateOf = (record: RecordOf[K] | undefined): PresentState | undefined => {
    if (record !== undefined && isTenant(kind, record)) return { ...nothing, tenant: record };
    if (kind === 'tenant' || tenant === undefined) return undefined;
    return { ...nothing, tenant, ...(record !== undefined && { [recordKinds[kind].list]: [record] }) };
  };
  const [current, desired] = [stateOf(before), stateOf(after)];
  if (desired !== undefined) return planTenant(current, desired);
  if (current === undefined) throw new Error(`There is no ${kind} to delete.`);
  return { ...planTenant(current, current), tenant: 'deleted' };
}

/** The plan that deletes records of a tenant, and leaves the tenant as it is to be. */
export function planDeletions(
  tenant: TenantRecord,
  deleted: Partial<PresentState>,
  after: TenantRecord,
): TenantPlan {
  return planTenant({ ...nothing, ...deleted, tenant }, { ...nothing, tenant: after });
}

function isTenant(kind: RecordKind, record: RecordOf[RecordKind]): record is TenantRecord {
  return kind === 'tenant' && 'tenantId' in record;
}
