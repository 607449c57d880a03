import { auditPage, auditPageToken } from '@tessera/audit';
import {
  SearchAuditRequestSchema,
  type AuditEvent,
  type AuditService,
  type SearchAuditRequest,
} from '@tessera/proto-gen/admin-audit';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { create, pageOf, refusedByPeer, type CallOptions, type Client } from '@tessera/rpc';
import { errorReason, limitRepeats, type Logger } from '@tessera/telemetry';

type Search = Client<typeof AuditService>;

/**
 * One search of the audit trails of several services, the latest event first. Each says how far back it has looked; so
 * does the answer. In the trail of one tenant people have their names, all by one call.
 */
export function mergedAudit(
  owners: readonly Search[],
  directory: Pick<Client<typeof DirectoryService>, 'batchGetUsers'>,
  log: Pick<Logger, 'warn'>,
): Search {
  const warnings = limitRepeats(log);
  async function named(tenantId: string, events: readonly AuditEvent[], call?: CallOptions) {
    const people = new Set(events.map(({ subject }) => subject).filter((subject) => subject !== ''));
    if (tenantId === '' || people.size === 0) return events;
    const request = { tenantId, userIds: [...people] };
    const { users } = await directory.batchGetUsers(request, call).catch((error: unknown) => {
      // Compatibility until 0.4: a directory of version 0.2 does not name people to `admin`.
      const refused = refusedByPeer(error);
      if (refused === undefined) throw error;
      const reason = errorReason(refused);
      warnings.warn('refused', { reason }, 'audit trail without names: directory refuses to name people');
      return { users: [] };
    });
    const names = new Map(users.map(({ userId, name, username }) => [userId, name || username]));
    return events.map((event) => ({ ...event, subjectName: names.get(event.subject) ?? '' }));
  }
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
        events: [...(await named(request.tenantId, events, call))],
        nextPageToken: auditPageToken(next, request),
      };
    },
  };
}
