import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { listAddresses, readListRequest, readQuery, type List } from '@tessera/pages';
import { ownerCell } from '../../forms/owned.ts';
import { param, pathOf, type ConsolePage } from '../../console-visit.ts';

/** The APIs of an organization: one call for a page. */
export const apisPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const path = pathOf(tenantId, 'apis');
    const asked = readListRequest(readQuery(visit.request));
    const { search, pageToken } = asked;
    const { resources, nextPageToken } = await visit
      .api(ResourcesService)
      .list({ tenantId, search, pageToken }, visit.call());
    const list: List = {
      caption: 'APIs',
      columns: ['Name', 'Audience', 'Scopes', 'Owner'],
      rows: resources.map(({ name, audience, scopes, owner }) => [
        { text: name || audience, href: pathOf(tenantId, 'apis', audience) },
        { text: audience },
        { text: scopes.map((scope) => scope.name).join(' ') },
        ownerCell(owner),
      ]),
      empty:
        'No API was found. Create one, or search for part of another name. Applications ask for an API by its scopes.',
      search: { path, label: 'Name or audience', value: search },
      ...listAddresses(path, asked, nextPageToken),
    };
    const make = { href: pathOf(tenantId, 'new-api'), label: 'Create an API' };
    return visit.send({ template: 'listed', data: { list, make } });
  },
};
