import type { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { readPages, type CallOptions, type Client } from '@tessera/rpc';

/**
 * The names of the attributes of people that the applications of a tenant are told of as claims, active or not. Throws
 * ConnectError.
 */
export async function attributesInClaims(
  applications: Pick<Client<typeof ApplicationsService>, 'list'>,
  tenantId: string,
  call: CallOptions,
): Promise<ReadonlySet<string>> {
  const { found } = await readPages(async (page) => {
    const answer = await applications.list({ tenantId, ...page }, call);
    const mapped = answer.applications.flatMap(({ claims }) => Object.values(claims));
    return { found: mapped.map(({ attribute }) => attribute), nextPageToken: answer.nextPageToken };
  });
  return new Set(found.filter((attribute) => attribute !== ''));
}
