import { route, type Route } from '@tessera/rpc';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { applicationCalls } from '../applications/application-calls.ts';
import { resourceCalls } from '../resources/resource-calls.ts';
import { roleCalls } from '../roles/role-calls.ts';
import { tenantCalls } from '../tenants/tenant-calls.ts';
import { userCalls } from '../users/user-calls.ts';
import { createRecordChanges } from './change-records.ts';

type Deps = Parameters<typeof createRecordChanges>[0] &
  Omit<
    Parameters<typeof applicationCalls>[0] &
      Parameters<typeof tenantCalls>[0] &
      Parameters<typeof userCalls>[0],
    'records'
  >;

/** The services of the records, one for each kind. */
export function recordRoutes(given: Deps): Route[] {
  const deps = { ...given, records: createRecordChanges(given) };
  return [
    route(TenantsService, tenantCalls(deps)),
    route(ResourcesService, resourceCalls(deps)),
    route(RolesService, roleCalls(deps)),
    route(UsersService, userCalls(deps)),
    route(ApplicationsService, applicationCalls(deps)),
  ];
}
