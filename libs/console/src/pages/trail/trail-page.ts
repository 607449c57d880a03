import { timestampFromMs } from '@tessera/rpc';
import { AuditService, type AuditEvent } from '@tessera/proto-gen/admin-audit';
import {
  listAddresses,
  readListRequest,
  readQuery,
  shownParameter,
  type Cell,
  type List,
} from '@tessera/pages';
import { timeOrNone } from '../../cells.ts';
import { idOfNamed } from '../../named-person.ts';
import { param, pathOf, type ConsolePage } from '../../console-visit.ts';
import { clientCell, eventCell, outcomeCell, subjectCell } from './event-words.ts';

const labels = {
  outcome: { failure: 'Refused' },
  event: {
    'auth.login.failed': 'Failed sign-ins',
    'auth.login.succeeded': 'Sign-ins',
    'session.': 'Sessions',
    'consent.': 'Consents',
    'token.': 'Tokens',
    'auth.': 'Ways to sign in',
    'user.': 'People',
    'client.': 'Applications',
    'device.': 'Devices',
    'ciba.': 'Approvals',
    'mail.': 'Mail',
    'config.': 'APIs and roles',
    'ratelimit.exceeded': 'Too many attempts',
  },
} as const;
const filters = { outcome: Object.keys(labels.outcome), event: Object.keys(labels.event) };
const dayMs = 86_400_000;

/** What happened in an organization, and who did it: one call for a page, names of people included. */
export const auditPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const path = pathOf(tenantId, 'audit');
    const query = readQuery(visit.request);
    const typed = (name: string) => shownParameter(query, name).trim();
    const narrowed = {
      person: typed('person'),
      application: typed('application'),
      from: dayIn(typed('from')),
      until: dayIn(typed('until')),
    };
    const chosen = readListRequest(query, filters);
    const asked = { ...chosen, filters: { ...chosen.filters, ...narrowed } };
    const { person, application, from, until } = narrowed;
    const about = person === '' ? application : await idOfNamed(visit, person);
    const { events, nextPageToken } = await visit.api(AuditService).search(
      {
        tenantId,
        about,
        event: chosen.filters['event'] ?? '',
        outcome: chosen.filters['outcome'] ?? '',
        pageToken: asked.pageToken,
        ...(from !== '' && { startTime: timestampFromMs(Date.parse(from)) }),
        ...(until !== '' && { endTime: timestampFromMs(Date.parse(until) + dayMs) }),
      },
      visit.call(),
    );
    // A search is about one of them.
    const found =
      person === '' ? events : events.filter((event) => application === '' || event.clientId === application);
    const list: List = {
      caption: 'Audit trail',
      columns: ['When', 'What', 'Outcome', 'Person', 'Application', 'Who', 'Address', 'Details'],
      rows: found.map((event) => rowOf(event, tenantId)),
      empty:
        nextPageToken === ''
          ? 'Nothing was found. Take a filter away, or choose other days.'
          : 'Nothing was found so far. Go on to earlier events with the next page.',
      ...listAddresses(path, asked, nextPageToken, labels),
    };
    const carried = list.carried.filter(({ name }) => Object.hasOwn(filters, name));
    return visit.send({ template: 'audit', data: { path, narrowed, carried, list } });
  },
};

/** A day as a form writes it; '' for what is none. */
function dayIn(text: string): string {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && !Number.isNaN(Date.parse(text)) ? text : '';
}

function rowOf(event: AuditEvent, tenantId: string): readonly Cell[] {
  const { time, ipAddress, details, actor } = event;
  return [
    timeOrNone(time),
    eventCell(event),
    outcomeCell(event, tenantId),
    subjectCell(event, tenantId),
    clientCell(event, tenantId),
    actorCell(actor, event),
    { text: ipAddress },
    { text: detailsOf(details) },
  ];
}

function actorCell(actor: AuditEvent['actor'], { subject, subjectName }: AuditEvent): Cell {
  if (actor === undefined) return { text: '' };
  return { text: actor.id === subject && subjectName !== '' ? subjectName : actor.id };
}

function detailsOf(details: AuditEvent['details']): string {
  return Object.entries(details)
    .map(([name, value]) => `${name}: ${value}`)
    .join(', ');
}
