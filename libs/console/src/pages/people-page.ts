import { timestampMs } from '@tessera/rpc';
import { UsersService, type User } from '@tessera/proto-gen/admin-users';
import {
  listAddresses,
  readListRequest,
  readQuery,
  shownParameter,
  withParameters,
  type Cell,
  type List,
} from '@tessera/pages';
import { statusOf } from '../shown-person.ts';
import { param, pathOf, type ConsolePage } from '../console-visit.ts';

const filters = { status: ['disabled', 'locked'], seen: ['never'], invited: ['yes'] } as const;

const labels = {
  status: { disabled: 'Disabled', locked: 'Locked by an administrator' },
  seen: { never: 'Never signed in' },
  invited: { yes: 'Invited' },
};

/** The people of an organization: one call for a page. */
export const peoplePage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const path = pathOf(tenantId, 'people');
    const query = readQuery(visit.request);
    const role = shownParameter(query, 'role');
    const { filters: chosen, ...asked } = readListRequest(query, filters);
    const { search, pageToken } = asked;
    const { users, nextPageToken } = await visit.api(UsersService).list(
      {
        tenantId,
        search,
        pageToken,
        role,
        status: chosen['status'] ?? '',
        neverSignedIn: chosen['seen'] === 'never',
        invited: chosen['invited'] === 'yes',
      },
      visit.call(),
    );
    const narrowed = { ...asked, filters: { ...chosen, role } };
    const addresses = listAddresses(path, narrowed, nextPageToken, labels);
    const list: List = {
      caption: 'People',
      columns: ['Name', 'User name', 'Email address', 'Status', 'Last sign-in'],
      rows: users.map((user) => [
        { text: user.name || user.username, href: pathOf(tenantId, 'people', user.userId) },
        { text: user.username },
        { text: user.email },
        { sentence: statusOf(user) },
        lastSignIn(user),
      ]),
      empty: 'Nobody was found. Take a filter away, or search for the beginning of a name or address.',
      search: { path, label: 'Name, user name, email address or phone number', value: search },
      ...addresses,
      filters: [
        ...addresses.filters,
        // A role comes from the page of roles, and goes with a click.
        ...(role === ''
          ? []
          : [{ label: role, isOn: true, href: withParameters(path, { q: search, ...chosen }) }]),
      ],
    };
    const beside = { href: pathOf(tenantId, 'deleted-people'), label: 'Deleted people' };
    const make = { href: pathOf(tenantId, 'new-person'), label: 'Add a person' };
    return visit.send({ template: 'listed', data: { list, make, beside } });
  },
};

function lastSignIn({ lastSignInTime }: User): Cell {
  return lastSignInTime === undefined ? { sentence: 'None known' } : { time: timestampMs(lastSignInTime) };
}
