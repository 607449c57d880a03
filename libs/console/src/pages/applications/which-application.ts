import { ApplicationsService, type Application } from '@tessera/proto-gen/admin-applications';
import { param, pathOf, type Visit } from '../../console-visit.ts';

/** The application of a path, and the path of its page. */
export function whichOf(visit: Visit) {
  const [tenantId, clientId] = [param(visit, 'tenant'), param(visit, 'application')];
  return { tenantId, clientId, path: pathOf(tenantId, 'applications', clientId) };
}

export async function applicationOf(visit: Visit): Promise<Application> {
  const { tenantId, clientId } = whichOf(visit);
  return visit.api(ApplicationsService).get({ tenantId, clientId }, visit.call());
}

export const nameOfApplication = ({ name, clientId }: Application): string => name || clientId;
