import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { listAddresses, readListRequest, readQuery, shownParameter, type List } from '@tessera/pages';
import { ownerCell } from '../forms/owned.ts';
import { problemOf } from '../shown-refusals.ts';
import { goTo, pathOf, type ConsolePage } from '../console-visit.ts';

/** The organizations of the instance, for operators; other administrators go to their own. */
export const organizationsPage: ConsolePage = {
  load: async (visit) => {
    const { everyTenant, tenantId } = visit.session();
    if (!everyTenant) return goTo(visit, pathOf(tenantId));
    const query = readQuery(visit.request);
    const opened = shownParameter(query, 'open').trim();
    if (opened !== '') return goTo(visit, pathOf(opened));
    const asked = readListRequest(query);
    const { search, pageToken } = asked;
    const found = await visit
      .api(TenantsService)
      .list({ search, pageToken }, visit.call())
      .catch((error: unknown) => problemOf(error, visit));
    // A help desk sees no list of organizations, and opens those that it knows.
    if (typeof found === 'string') return visit.send({ template: 'open-organization', message: found });
    const { tenants, nextPageToken } = found;
    const list: List = {
      caption: 'Organizations',
      columns: ['Name', 'Identifier', 'Status', 'Owner'],
      rows: tenants.map((tenant) => [
        { text: tenant.name || tenant.tenantId, href: pathOf(tenant.tenantId) },
        { text: tenant.tenantId },
        { sentence: tenant.status === 'active' ? 'Active' : 'Disabled' },
        ownerCell(tenant.owner),
      ]),
      empty: 'No organization was found. Search for another name.',
      search: { path: '/', label: 'Name or identifier', value: search },
      ...listAddresses('/', asked, nextPageToken),
    };
    return visit.send({ template: 'listed', data: { list } });
  },
};
