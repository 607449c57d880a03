import { routeWhenCalled, type Route } from '@tessera/rpc';
import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { PlanService } from '@tessera/proto-gen/plan';
import { serviceOf, standardKinds } from '../record-kinds.ts';
import type { administeredRecords, AdministeredRecordsDeps } from './administered-records.ts';
import type { UserCalls } from './user-calls.ts';

/**
 * The services of the records, one for each kind, and those of all kinds of a tenant; of that of people the calls which
 * are about records. They are loaded with the first call: most processes that could serve them never do.
 */
export function recordRoutes(deps: AdministeredRecordsDeps): {
  readonly routes: Route[];
  readonly users: () => Promise<UserCalls>;
} {
  let made: Promise<ReturnType<typeof administeredRecords>> | undefined;
  const calls = () =>
    (made ??= import('./administered-records.ts').then((loaded) => loaded.administeredRecords(deps)));
  return {
    routes: [
      routeWhenCalled(TenantsService, async () => (await calls()).tenants),
      ...standardKinds.map((kind) =>
        routeWhenCalled(serviceOf(kind), async () => (await calls()).standard(kind)),
      ),
      routeWhenCalled(ApplicationsService, async () => (await calls()).applications),
      routeWhenCalled(DeclaredStateService, async () => (await calls()).declaredState),
      routeWhenCalled(PlanService, async () => (await calls()).plans),
    ],
    users: async () => (await calls()).users,
  };
}
