import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { readQuery, shownParameter, withParameters, type Cell } from '@tessera/pages';
import { nameOf } from '../shown-person.ts';
import { here, param, pathOf, type ConsolePage, type Visit } from '../console-visit.ts';

const shown = 5;

/** What was found of one kind. */
interface Group {
  readonly title: string;
  readonly found: readonly { readonly cell: Cell; readonly beside?: string }[];
  /** The list that has the others. */
  readonly all?: string | undefined;
}

/**
 * Finds pages of the console, and people, applications, APIs and organizations by name. `find.js` opens it over other
 * pages.
 */
export const findPage: ConsolePage = {
  load: async (visit) => {
    const search = shownParameter(readQuery(visit.request), 'q').trim();
    const tenantId = param(visit, 'tenant');
    // Without something to look for it is asked whether somebody may look at all.
    if (search === '') await people.ask(visit, { tenantId, search, pageSize: 1 });
    const isOpen = ({ list }: Kind) => visit.opens(list(tenantId));
    const kinds = search === '' ? [] : [people, ...others.filter(isOpen)];
    const found = await Promise.all(kinds.map(async (kind) => records(visit, kind, search)));
    const groups = [pages(visit, search), ...found].filter((group) => group.found.length > 0);
    const count = groups.reduce((sum, group) => sum + group.found.length, 0);
    return visit.send({ template: 'find', data: { path: here(visit), search, groups, count } });
  },
};

/** Those that are of no record, and the explanation of what looks like a reference. */
function pages(visit: Visit, search: string): Group {
  const tenantId = param(visit, 'tenant');
  const { t, tag } = visit.language();
  const folded = (text: string) => text.toLocaleLowerCase(tag);
  const words = folded(search).split(/\s+/u);
  const isIn = (label: string, word: string) =>
    word.length < 3 ? label.split(' ').some((part) => part.startsWith(word)) : label.includes(word);
  const found = visit
    .pagesOf(tenantId)
    .filter(({ label }) => words.every((word) => isIn(folded(t(label)), word)))
    .map(({ label, path }) => ({ cell: { sentence: label, href: path } }));
  const why = withParameters(pathOf(tenantId, 'why'), { reference: search });
  const isReference = /^[0-9A-HJKMNP-TV-Z]{26}$/.test(search) && visit.opens(why);
  return {
    title: 'Pages',
    found: [...found, ...(isReference ? [{ cell: { sentence: 'Why was this refused?', href: why } }] : [])],
  };
}

/** A kind of record that is found by name. */
interface Kind {
  readonly title: string;
  /** The path of its list. */
  readonly list: (tenantId: string) => string;
  readonly ask: (
    visit: Visit,
    request: { readonly tenantId: string; readonly search: string; readonly pageSize: number },
  ) => Promise<{ readonly found: Group['found']; readonly nextPageToken: string }>;
}

const people: Kind = {
  title: 'People',
  list: (tenantId) => pathOf(tenantId, 'people'),
  async ask(visit, request) {
    const { users, nextPageToken } = await visit.api(UsersService).list(request, visit.call());
    const found = users.map((user) => ({
      cell: { text: nameOf(user), href: pathOf(request.tenantId, 'people', user.userId) },
      beside: user.username || user.email,
    }));
    return { found, nextPageToken };
  },
};

const others: readonly Kind[] = [
  {
    title: 'Applications',
    list: (tenantId) => pathOf(tenantId, 'applications'),
    async ask(visit, request) {
      const { applications, nextPageToken } = await visit
        .api(ApplicationsService)
        .list(request, visit.call());
      const found = applications.map(({ name, clientId }) => ({
        cell: { text: name || clientId, href: pathOf(request.tenantId, 'applications', clientId) },
        beside: clientId,
      }));
      return { found, nextPageToken };
    },
  },
  {
    title: 'APIs',
    list: (tenantId) => pathOf(tenantId, 'apis'),
    async ask(visit, request) {
      const { resources, nextPageToken } = await visit.api(ResourcesService).list(request, visit.call());
      const found = resources.map(({ name, audience }) => ({
        cell: { text: name || audience, href: pathOf(request.tenantId, 'apis', audience) },
        beside: audience,
      }));
      return { found, nextPageToken };
    },
  },
  {
    title: 'Organizations',
    list: () => '/',
    async ask(visit, { search, pageSize }) {
      const { tenants, nextPageToken } = await visit
        .api(TenantsService)
        .list({ search, pageSize }, visit.call());
      const found = tenants.map(({ name, tenantId }) => ({
        cell: { text: name || tenantId, href: pathOf(tenantId) },
        beside: tenantId,
      }));
      return { found, nextPageToken };
    },
  },
];

async function records(visit: Visit, { title, list, ask }: Kind, search: string): Promise<Group> {
  const tenantId = param(visit, 'tenant');
  const path = list(tenantId);
  const { found, nextPageToken } = await ask(visit, { tenantId, search, pageSize: shown });
  return { title, found, all: nextPageToken === '' ? undefined : withParameters(path, { q: search }) };
}
