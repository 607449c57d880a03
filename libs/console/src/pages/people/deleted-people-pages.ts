import { UsersService, type User } from '@tessera/proto-gen/admin-users';
import { listAddresses, readListRequest, readQuery, type List } from '@tessera/pages';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
import { actCell, timeOrNone } from '../../cells.ts';
import { confirmPage, sendDone, whoseOf } from '../../confirmed.ts';
import { nameOf } from '../../shown-person.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';

const deletedPath = (visit: Visit) => pathOf(param(visit, 'tenant'), 'deleted-people');

/** The people who can be restored: one call for a page. */
export const deletedPeoplePage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const path = deletedPath(visit);
    const asked = readListRequest(readQuery(visit.request));
    const { search, pageToken } = asked;
    const { users, nextPageToken } = await visit
      .api(UsersService)
      .listDeleted({ tenantId, search, pageToken }, visit.call());
    const list: List = {
      caption: 'Deleted people',
      columns: ['Name', 'User name', 'Deleted', 'Restore'],
      rows: users.map((user) => [
        { text: nameOf(user) },
        { text: user.username },
        timeOrNone(user.deleteTime),
        actCell('Restore', pathOf(tenantId, 'deleted-people', user.userId, 'restore')),
      ]),
      empty:
        'Nobody was found. People can be restored for 30 days after they are deleted. Search for the beginning of another user name.',
      search: { path, label: 'User name', value: search },
      ...listAddresses(path, asked, nextPageToken),
    };
    return visit.send({ template: 'listed', data: { list } });
  },
};

/** Brings a deleted person back. */
export const restorePersonPage: ConsolePage = confirmPage({
  read: deletedPersonOf,
  nameOf,
  etagOf: ({ etag }) => etag,
  message:
    '{name} gets the account back, with everything they signed in with. What was issued before stays invalid, and roles that are gone stay gone.',
  label: 'Restore',
  isHarmless: true,
  back: deletedPath,
  act: async (visit, etag) => {
    await visit.api(UsersService).undelete(whoseOf(visit, etag), visit.call());
    return sendDone(visit, {
      title: 'The person is restored',
      message: 'Applications know them as before. People who were disabled are still disabled.',
    });
  },
});

/** A deleted person as they would come back; only a trial of it tells. */
async function deletedPersonOf(visit: Visit): Promise<User> {
  const request = { ...whoseOf(visit, ''), validateOnly: true };
  try {
    return await visit.api(UsersService).undelete(request, visit.call());
  } catch (error) {
    const isTaken = error instanceof ConnectError && error.code === Code.AlreadyExists;
    if (!isTaken || fieldViolations(error).length === 0) throw error;
    const problem =
      'Another person has the user name, email address or phone number of this person now. Change theirs first.';
    throw new ConnectError(problem, Code.AlreadyExists, undefined, undefined, error);
  }
}
