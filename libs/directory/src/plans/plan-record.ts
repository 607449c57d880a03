import { planTenant, type TenantPlan } from './plan.ts';
import type { PresentState, RecordKind, RecordKinds, TenantState } from './tenant-state.ts';
import type { TenantRecord } from '../tenants/fields.ts';

const lists = {
  user: 'users',
  application: 'applications',
  resource: 'resources',
  role: 'roles',
  tenant: 'tenant',
} as const satisfies Record<RecordKind, keyof TenantState>;
const nothing = {
  resources: [],
  roles: [],
  providers: [],
  users: [],
  applications: [],
  known: [],
  proven: [],
};

/** The plan that turns one record into another. Undefined: it does not exist. */
export function planRecord<K extends RecordKind>(
  tenant: TenantRecord | undefined,
  kind: K,
  before: RecordKinds[K] | undefined,
  after: RecordKinds[K] | undefined,
): TenantPlan {
  const stateOf = (record: RecordKinds[K] | undefined): PresentState | undefined => {
    if (record !== undefined && isTenant(kind, record)) return { ...nothing, tenant: record };
    if (kind === 'tenant' || tenant === undefined) return undefined;
    return { ...nothing, tenant, ...(record !== undefined && { [lists[kind]]: [record] }) };
  };
  const [current, desired] = [stateOf(before), stateOf(after)];
  if (desired !== undefined) return planTenant(current, desired);
  if (current === undefined) throw new Error(`There is no ${kind} to delete.`);
  return { ...planTenant(current, current), tenant: 'deleted' };
}

function isTenant(kind: RecordKind, record: RecordKinds[RecordKind]): record is TenantRecord {
  return kind === 'tenant' && 'tenantId' in record;
}
