import { auditPage, auditPageToken } from '@tessera/audit';
import {
  SearchAuditRequestSchema,
  type AuditService,
  type SearchAuditRequest,
} from '@tessera/proto-gen/admin-audit';
import { create, pageOf, type Client } from '@tessera/rpc';

type Search = Client<typeof AuditService>;

/**
 * One search of the audit trails of several services, the latest event first. Each says how far back it has looked; so
 * does the answer.
 */
export function mergedAudit(owners: readonly Search[]): Search {
  return {
    async search(given, call) {
      const request: SearchAuditRequest = create(SearchAuditRequestSchema, given);
      const { size } = auditPage(request);
      const pages = await Promise.all(owners.map(async (owner) => owner.search(request, call)));
      const unfinished = pages
        .map(({ nextPageToken }) => nextPageToken)
        .filter((token) => token !== '')
        .map((pageToken) => auditPage({ ...request, pageToken }).before);
      const complete = unfinished.reduce((latest, each) => (each > latest ? each : latest), '');
      const found = pages
        .flatMap(({ events }) => events)
        .filter(({ eventId }) => eventId >= complete)
        .toSorted((a, b) => (a.eventId < b.eventId ? 1 : -1));
      const { page: events, last } = pageOf(found, { size });
      const next = last?.eventId ?? (complete === '' ? undefined : complete);
      return {
        $typeName: 'tessera.admin.v1.SearchAuditResponse',
        events,
        nextPageToken: auditPageToken(next, request),
      };
    },
  };
}
