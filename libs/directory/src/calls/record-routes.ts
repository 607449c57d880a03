import { route, type Route } from '@tessera/rpc';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { PlanService } from '@tessera/proto-gen/plan';
import { applicationCalls } from './application-calls.ts';
import { declaredStateCalls, planCalls } from './declared-state-calls.ts';
import type { DocumentDeps } from './declared-documents.ts';
import { resourceCalls } from './resource-calls.ts';
import { roleCalls } from './role-calls.ts';
import { tenantCalls } from './tenant-calls.ts';
import { userCalls, type UserCalls } from './user-calls.ts';
import { createRecordChanges } from '../records/change-records.ts';

type Deps = Parameters<typeof createRecordChanges>[0] &
  DocumentDeps &
  Omit<
    Parameters<typeof applicationCalls>[0] &
      Parameters<typeof tenantCalls>[0] &
      Parameters<typeof userCalls>[0],
    'records'
  >;

/**
 * The services of the records, one for each kind, and those of all kinds of a tenant; of that of people the calls which
 * are about records.
 */
export function recordRoutes(given: Deps): { readonly routes: Route[]; readonly users: UserCalls } {
  const deps = { ...given, records: createRecordChanges(given) };
  return {
    routes: [
      route(TenantsService, tenantCalls(deps)),
      route(ResourcesService, resourceCalls(deps)),
      route(RolesService, roleCalls(deps)),
      route(ApplicationsService, applicationCalls(deps)),
      route(DeclaredStateService, declaredStateCalls(deps)),
      route(PlanService, planCalls(deps)),
    ],
    users: userCalls(deps),
  };
}
