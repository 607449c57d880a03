import { ResourcesService, type DeclaredScope, type Resource } from '@tessera/proto-gen/admin-resources';
import { OAuthError } from '@tessera/oauth';
import { param, pathOf, type Visit } from '../../console-visit.ts';

/** The API of a path, and the path of its page. */
export function whichApi(visit: Visit) {
  const [tenantId, audience] = [param(visit, 'tenant'), param(visit, 'api')];
  return { tenantId, audience, path: pathOf(tenantId, 'apis', audience) };
}

export async function apiOf(visit: Visit): Promise<Resource> {
  const { tenantId, audience } = whichApi(visit);
  return visit.api(ResourcesService).get({ tenantId, audience }, visit.call());
}

export const nameOfApi = ({ name, audience }: Resource): string => name || audience;

/** A scope of the path, with its API. Throws `not_found`. */
export async function scopeOf(
  visit: Visit,
): Promise<{ readonly api: Resource; readonly scope: DeclaredScope }> {
  const api = await apiOf(visit);
  const scope = api.scopes.find(({ name }) => name === param(visit, 'scope'));
  if (scope === undefined) throw new OAuthError('not_found', 'Not found.');
  return { api, scope };
}
