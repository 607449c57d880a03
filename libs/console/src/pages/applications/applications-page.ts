import { ApplicationsService, type Application } from '@tessera/proto-gen/admin-applications';
import {
  listAddresses,
  readListRequest,
  readQuery,
  shownParameter,
  withParameters,
  type Cell,
  type List,
} from '@tessera/pages';
import { ownerCell, ownerLabel } from '../../forms/owned.ts';
import { kindLabels } from './application-kinds.ts';
import { timeCell } from '../../cells.ts';
import { param, pathOf, type ConsolePage } from '../../console-visit.ts';

const filters = { kind: Object.keys(kindLabels), status: ['active', 'disabled'] } as const;

const labels = { kind: kindLabels, status: { active: 'Active', disabled: 'Disabled' } };

/** The applications of an organization: one call for a page. */
export const applicationsPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const path = pathOf(tenantId, 'applications');
    const query = readQuery(visit.request);
    const owner = shownParameter(query, 'owner');
    const { filters: chosen, ...asked } = readListRequest(query, filters);
    const { search, pageToken } = asked;
    const { kind = '', status = '' } = chosen;
    const { applications, nextPageToken } = await visit
      .api(ApplicationsService)
      .list({ tenantId, search, pageToken, kind, status, owner }, visit.call());
    const narrowed = { ...asked, filters: { ...chosen, owner } };
    const addresses = listAddresses(path, narrowed, nextPageToken, labels);
    const others = withParameters(path, { q: search, ...chosen });
    const list: List = {
      caption: 'Applications',
      columns: ['Name', 'Client ID', 'Kind', 'Owner', 'Status', 'Last used'],
      rows: applications.map((application) => rowOf(application, tenantId, others)),
      empty: 'No application was found. Remove a filter, or search for part of another name or client ID.',
      search: { path, label: 'Name or client ID', value: search },
      ...addresses,
      filters: [
        ...addresses.filters,
        ...(owner === '' ? [] : [{ label: ownerLabel(owner), isOn: true, href: others }]),
      ],
    };
    const beside = { href: pathOf(tenantId, 'deleted-applications'), label: 'Deleted applications' };
    const make = { href: pathOf(tenantId, 'new-application'), label: 'Create an application' };
    return visit.send({ template: 'listed', data: { list, make, beside } });
  },
};

function rowOf(application: Application, tenantId: string, others: string): readonly Cell[] {
  const { name, clientId, kind, owner, status, lastUseTime } = application;
  return [
    { text: name || clientId, href: pathOf(tenantId, 'applications', clientId) },
    { text: clientId },
    { sentence: kindLabels[kind] ?? kind },
    ownerCell(owner, withOwner(others, owner)),
    { sentence: status === 'active' ? 'Active' : 'Disabled' },
    lastUseTime === undefined ? { sentence: 'None known' } : timeCell(lastUseTime),
  ];
}

/** The same list, of one owner. */
function withOwner(path: string, owner: string): string {
  return `${path}${path.includes('?') ? '&' : '?'}${new URLSearchParams({ owner }).toString()}`;
}
