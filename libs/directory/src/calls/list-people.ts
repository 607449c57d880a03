import { normalizeStart } from '@tessera/kit';
import type { ListUsersRequestSchema } from '@tessera/proto-gen/admin-users';
import { invalidFields, pageRequest, timestampMs, type MessageShape } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { listed } from '../records/record-calls.ts';
import { listRecords } from '../store/read-records.postgres.ts';
import { searchPeople } from '../store/search-people.postgres.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { lastSignIns } from '../users/lists/last-sign-ins.postgres.ts';
import type { PeopleFilter } from '../users/lists/people-orders.ts';
import { messageOfUser } from './forms/user-form.ts';

type Asked = MessageShape<typeof ListUsersRequestSchema>;

/** A page of the people of a tenant, or of those of whom holds what is asked, with their last sign-ins. */
export async function listPeople(database: Database, { tenantId, pageSize, pageToken, ...asked }: Asked) {
  const filter = filterIn(asked);
  const isAsked = Object.keys(filter).length > 0;
  const request = pageRequest({ pageSize, pageToken, search: isAsked ? JSON.stringify(filter) : '' });
  const { found, nextPageToken } = await listed(database, 'user', tenantId, request, async () =>
    isAsked
      ? searchPeople(database, tenantId, filter, request)
      : listRecords(database, 'user', tenantId, request),
  );
  const ids = found.map(({ record }) => record.userId);
  const seen = await lastSignIns(database, tenantId, ids);
  const times = new Map(seen.map(({ userId, at }) => [userId, at]));
  return { users: found.map((each) => messageOfUser(each, times.get(each.record.userId))), nextPageToken };
}

/** In UTF-16 code units, of a text that is searched for. */
const longestSearch = 256;

/** In milliseconds since the Unix epoch. Throws InvalidArgument for a time of another age. */
function timeIn(field: string, time: Parameters<typeof timestampMs>[0]): number {
  const at = timestampMs(time);
  const [first, last] = [Date.UTC(1970, 0, 1), Date.UTC(9999, 11, 31)];
  if (at >= first && at <= last) return at;
  throw invalidFields([{ field, description: 'must be between the years 1970 and 9999' }]);
}

/** What a list request asks of people; empty for all. */
function filterIn({
  search,
  role,
  status,
  provider,
  notSignedInSince,
  neverSignedIn,
  invited,
}: Omit<Asked, 'tenantId' | 'pageSize' | 'pageToken'>): PeopleFilter {
  const text = search.trim().startsWith('+') ? normalizeIdentifier(search) : search.trim();
  return {
    ...(text !== '' && { text: normalizeStart(text, 'NFC', longestSearch) }),
    ...(role !== '' && { role }),
    ...(status !== '' && { status }),
    ...(provider !== '' && { provider }),
    ...(notSignedInSince !== undefined && { notSignedInSince: timeIn('notSignedInSince', notSignedInSince) }),
    ...(neverSignedIn && { neverSignedIn }),
    ...(invited && { invited }),
  };
}
