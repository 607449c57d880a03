import type { StandardKind } from '../record-kinds.ts';
import { createRecordChanges } from '../records/change-records.ts';
import { applicationCalls } from './application-calls.ts';
import { declaredStateCalls, planCalls } from './declared-state-calls.ts';
import type { DocumentDeps } from './declared-documents.ts';
import { resourceRefusals } from './resource-calls.ts';
import { roleRefusals } from './role-calls.ts';
import { standardCalls, type Refusals } from './standard-calls.ts';
import { tenantCalls } from './tenant-calls.ts';
import { userCalls } from './user-calls.ts';

export type AdministeredRecordsDeps = Parameters<typeof createRecordChanges>[0] &
  DocumentDeps &
  Omit<
    Parameters<typeof applicationCalls>[0] &
      Parameters<typeof tenantCalls>[0] &
      Parameters<typeof userCalls>[0],
    'records'
  >;

/** What kinds refuse that have no calls but the standard ones. */
const refusals: { readonly [K in StandardKind]?: Refusals<K> } = {
  resource: resourceRefusals,
  role: roleRefusals,
};

/** The calls of administrators on records, of each kind and of all kinds of a tenant. */
export function administeredRecords(given: AdministeredRecordsDeps) {
  const deps = { ...given, records: createRecordChanges(given) };
  return {
    tenants: tenantCalls(deps),
    standard: (kind: StandardKind) => standardCalls<never>(kind as never, refusals[kind] ?? {}, deps),
    applications: applicationCalls(deps),
    declaredState: declaredStateCalls(deps),
    plans: planCalls(deps),
    users: userCalls(deps),
  };
}
