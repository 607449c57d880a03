import { applicationCalls } from './application-calls.ts';
import { declaredStateCalls, planCalls } from './declared-state-calls.ts';
import type { DocumentDeps } from './declared-documents.ts';
import { resourceCalls } from './resource-calls.ts';
import { roleCalls } from './role-calls.ts';
import { tenantCalls } from './tenant-calls.ts';
import { userCalls } from './user-calls.ts';
import { createRecordChanges } from '../records/change-records.ts';

export type AdministeredRecordsDeps = Parameters<typeof createRecordChanges>[0] &
  DocumentDeps &
  Omit<
    Parameters<typeof applicationCalls>[0] &
      Parameters<typeof tenantCalls>[0] &
      Parameters<typeof userCalls>[0],
    'records'
  >;

/** The calls of administrators on records, of each kind and of all kinds of a tenant. */
export function administeredRecords(given: AdministeredRecordsDeps) {
  const deps = { ...given, records: createRecordChanges(given) };
  return {
    tenants: tenantCalls(deps),
    resources: resourceCalls(deps),
    roles: roleCalls(deps),
    applications: applicationCalls(deps),
    declaredState: declaredStateCalls(deps),
    plans: planCalls(deps),
    users: userCalls(deps),
  };
}
