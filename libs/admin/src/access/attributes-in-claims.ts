import type { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import type { CallOptions, Client } from '@tessera/rpc';

/** Applications of a page. */
const pageSize = 500;

/** The names of the attributes of people that the applications of a tenant are told of as claims, active or not. Throws ConnectError. */
export async function attributesInClaims(
  applications: Pick<Client<typeof ApplicationsService>, 'list'>,
  tenantId: string,
  call: CallOptions,
): Promise<ReadonlySet<string>> {
  const names = new Set<string>();
  let pageToken = '';
  do {
    const page = await applications.list({ tenantId, pageSize, pageToken }, call);
    const mapped = page.applications.flatMap(({ claims }) => Object.values(claims));
    for (const { attribute } of mapped) if (attribute !== '') names.add(attribute);
    pageToken = page.nextPageToken;
  } while (pageToken !== '');
  return names;
}
