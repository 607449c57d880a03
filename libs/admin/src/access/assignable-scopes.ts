import type { Resource, ResourcesService } from '@tessera/proto-gen/admin-resources';
import { readPages, type CallOptions, type Client } from '@tessera/rpc';
import { mayWriteAs } from './owners.ts';

type Api = Pick<Resource, 'owner' | 'assignableBy'>;

/** The APIs of a tenant; undefined for what none of them has. */
export interface Apis {
  withScope(name: string): Api | undefined;
  withAudience(audience: string): Api | undefined;
}

/** Reads the APIs of a tenant. Throws ConnectError. */
export async function apisOf(
  resources: Pick<Client<typeof ResourcesService>, 'list'>,
  tenantId: string,
  call: CallOptions,
): Promise<Apis> {
  const { found } = await readPages(async (page) => {
    const answer = await resources.list({ tenantId, ...page }, call);
    return { found: answer.resources, nextPageToken: answer.nextPageToken };
  });
  const byScope = new Map(found.flatMap((api) => api.scopes.map(({ name }) => [name, api] as const)));
  const byAudience = new Map(found.map((api) => [api.audience, api]));
  return { withScope: (name) => byScope.get(name), withAudience: (audience) => byAudience.get(audience) };
}

/** What in `assignableBy` is no owner. */
const keywords: readonly string[] = ['tenant', 'owner'];

/** Whether an application of this owner gets the scopes of an API from everybody who changes it. */
export function isAssignable({ owner: own, assignableBy }: Api, owner: string): boolean {
  return (
    assignableBy.includes('tenant') ||
    (assignableBy.includes('owner') && owner === own) ||
    mayWriteAs({ owners: assignableBy.filter((named) => !keywords.includes(named)) }, owner)
  );
}
