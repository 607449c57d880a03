import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { listAddresses, readListRequest, readQuery, type List } from '@tessera/pages';
import { kindOf } from '../kind-of-application.ts';
import { param, pathOf, type ConsolePage } from '../console-visit.ts';

/** The applications of an organization: one call for a page. */
export const applicationsPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const path = pathOf(tenantId, 'applications');
    const asked = readListRequest(readQuery(visit.request));
    const { search, pageToken } = asked;
    const { applications, nextPageToken } = await visit
      .api(ApplicationsService)
      .list({ tenantId, search, pageToken }, visit.call());
    const list: List = {
      caption: 'Applications',
      columns: ['Name', 'Client ID', 'Kind', 'Owner', 'Status'],
      rows: applications.map((application) => [
        {
          text: application.name || application.clientId,
          href: pathOf(tenantId, 'applications', application.clientId),
        },
        { text: application.clientId },
        { sentence: kindOf(application) },
        { text: application.owner },
        { sentence: application.status === 'active' ? 'Active' : 'Disabled' },
      ]),
      empty: 'No application was found. Search for a part of another name or client ID.',
      search: { path, label: 'Name or client ID', value: search },
      ...listAddresses(path, asked, nextPageToken),
    };
    return visit.send({ template: 'listed', data: { list } });
  },
};
