import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { listAddresses, readListRequest, readQuery, type List } from '@tessera/pages';
import { actCell, timeOrNone } from '../../cells.ts';
import { confirmPage, showDone } from '../../confirmed.ts';
import { ownerCell } from '../../forms/owned.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';
import { nameOfApplication, whichOf } from './which-application.ts';

const deletedPath = (visit: Visit) => pathOf(param(visit, 'tenant'), 'deleted-applications');

/** The applications that can be restored: one call for a page. */
export const deletedApplicationsPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const path = deletedPath(visit);
    const asked = readListRequest(readQuery(visit.request));
    const { search, pageToken } = asked;
    const { applications, nextPageToken } = await visit
      .api(ApplicationsService)
      .listDeleted({ tenantId, search, pageToken }, visit.call());
    const list: List = {
      caption: 'Deleted applications',
      columns: ['Name', 'Client ID', 'Owner', 'Deleted', 'Restore'],
      rows: applications.map((application) => [
        { text: nameOfApplication(application) },
        { text: application.clientId },
        ownerCell(application.owner),
        timeOrNone(application.deleteTime),
        actCell('Restore', pathOf(tenantId, 'deleted-applications', application.clientId, 'restore')),
      ]),
      empty:
        'No application was found. Applications can be restored for 30 days after they are deleted. Search for the beginning of another client ID.',
      search: { path, label: 'Client ID', value: search },
      ...listAddresses(path, asked, nextPageToken),
    };
    return visit.send({ template: 'listed', data: { list } });
  },
};

/** Brings a deleted application back. */
export const restoreApplicationPage: ConsolePage = confirmPage({
  // As it would come back; only a trial of it tells.
  read: async (visit) => {
    const { tenantId, clientId } = whichOf(visit);
    return visit.api(ApplicationsService).undelete({ tenantId, clientId, validateOnly: true }, visit.call());
  },
  nameOf: nameOfApplication,
  etagOf: ({ etag }) => etag,
  message:
    '{name} comes back with its secrets. What was issued before stays invalid, and scopes and roles that are gone stay gone.',
  label: 'Restore',
  isHarmless: true,
  back: deletedPath,
  act: async (visit, etag) => {
    const { tenantId, clientId, path } = whichOf(visit);
    await visit.api(ApplicationsService).undelete({ tenantId, clientId, etag }, visit.call());
    return showDone(visit, {
      title: 'The application is restored',
      message: 'It can be used as before, unless it was disabled.',
      next: path,
      label: 'Back to this application',
    });
  },
});
