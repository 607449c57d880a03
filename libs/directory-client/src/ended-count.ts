import type { DirectoryService, User } from '@tessera/proto-gen/directory';
import type { EndedItem, Ends } from '@tessera/proto-gen/impact';
import { Code, ConnectError, type CallOptions, type Client } from '@tessera/rpc';
import type { ApplicationRecord } from './directory-client-types.ts';

type Item = Omit<EndedItem, '$typeName' | '$unknown'>;

/** As many are named; the rest are counted. */
const mostNamed = 100;

/** So many people are asked for, and so many rows read, at once. */
export const mostAtOnce = 1000;

/** Counts what a change would end, and keeps the first hundred. */
export class EndedCount {
  readonly first: Item[] = [];
  total = 0;

  add(item: Item): void {
    this.total += 1;
    if (this.first.length < mostNamed) this.first.push(item);
  }
}

/** The people that end, in parts that one statement can ask for; one part without a list for all of the tenant. */
export function partsOf({
  everything,
  userIds,
}: Pick<Ends, 'everything' | 'userIds'>): readonly (readonly string[] | undefined)[] {
  if (everything) return [undefined];
  const sorted = userIds.toSorted();
  const parts: string[][] = [];
  for (let at = 0; at < sorted.length; at += mostAtOnce) parts.push(sorted.slice(at, at + mostAtOnce));
  return parts;
}

/** People of a tenant as they are now, by their ids, without those that are unknown. */
export async function usersById(
  directory: Pick<Client<typeof DirectoryService>, 'batchGetUsers'>,
  tenantId: string,
  userIds: Iterable<string>,
  call: CallOptions,
): Promise<ReadonlyMap<string, User>> {
  const ids = [...new Set(userIds)];
  if (ids.length === 0) return new Map();
  const { users } = await directory.batchGetUsers({ tenantId, userIds: ids }, call);
  return new Map(users.map((user) => [user.userId, user]));
}

/** An application and its tenant as they are now; undefined if it is unknown. */
export async function applicationById(
  directory: Pick<Client<typeof DirectoryService>, 'getApplication'>,
  clientId: string,
  call: CallOptions,
): Promise<ApplicationRecord | undefined> {
  try {
    const { application, tenant } = await directory.getApplication({ clientId }, call);
    return application && tenant && { application, tenant };
  } catch (error) {
    if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
    throw error;
  }
}
