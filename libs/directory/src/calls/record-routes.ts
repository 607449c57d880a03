import { route, type Route } from '@tessera/rpc';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { PlanService } from '@tessera/proto-gen/plan';
import { applicationCalls } from './application-calls.ts';
import { declaredStateCalls, planCalls } from './declared-state-calls.ts';
import type { DocumentDeps } from './declared-documents.ts';
import { resourceRefusals } from './resource-calls.ts';
import { roleRefusals } from './role-calls.ts';
import { standardRoute, type Refusals, type StandardKind } from './standard-calls.ts';
import { tenantCalls } from './tenant-calls.ts';
import { userCalls, type UserCalls } from './user-calls.ts';
import { listedKinds } from '../record-kinds.ts';
import { createRecordChanges } from '../records/change-records.ts';

type Deps = Parameters<typeof createRecordChanges>[0] &
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

const standardKinds = listedKinds.filter(
  (kind): kind is StandardKind => kind !== 'provider' && kind !== 'user' && kind !== 'application',
);

/**
 * The services of the records, one for each kind, and those of all kinds of a tenant; of that of people the calls which
 * are about records.
 */
export function recordRoutes(given: Deps): { readonly routes: Route[]; readonly users: UserCalls } {
  const deps = { ...given, records: createRecordChanges(given) };
  return {
    routes: [
      route(TenantsService, tenantCalls(deps)),
      ...standardKinds.map((kind) => standardRoute<never>(kind as never, refusals[kind] ?? {}, deps)),
      route(ApplicationsService, applicationCalls(deps)),
      route(DeclaredStateService, declaredStateCalls(deps)),
      route(PlanService, planCalls(deps)),
    ],
    users: userCalls(deps),
  };
}
