import type { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { readPages, type CallOptions, type Client } from '@tessera/rpc';
import { mayWriteAs } from './owners.ts';

/** Whether an application of this owner gets a scope from everybody who changes it. */
export type IsAssignable = (scope: string, owner: string) => boolean;

/** What the APIs of a tenant say of who assigns their scopes. Throws ConnectError. */
export async function assignableScopes(
  resources: Pick<Client<typeof ResourcesService>, 'list'>,
  tenantId: string,
  call: CallOptions,
): Promise<IsAssignable> {
  const { found } = await readPages(async (page) => {
    const answer = await resources.list({ tenantId, ...page }, call);
    return { found: answer.resources, nextPageToken: answer.nextPageToken };
  });
  const apis = new Map(found.flatMap((api) => api.scopes.map(({ name }) => [name, api] as const)));
  return (scope, owner) => {
    const api = apis.get(scope);
    if (api === undefined) return false;
    const { assignableBy } = api;
    return (
      assignableBy.includes('tenant') ||
      (assignableBy.includes('owner') && owner === api.owner) ||
      mayWriteAs({ owners: assignableBy }, owner)
    );
  };
}
