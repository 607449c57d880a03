import { whatToChange } from '@tessera/audit/what-to-change';
import { timestampFromMs } from '@tessera/rpc';
import { AuditService, type AuditEvent } from '@tessera/proto-gen/admin-audit';
import { readQuery, shownParameter, withParameters, type Cell } from '@tessera/pages';
import { shortList, timeOrNone } from '../../cells.ts';
import { goTo, here, param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';
import { clientCell, eventCell, outcomeCell, subjectCell } from './event-words.ts';

const dayMs = 86_400_000;
const daysBack = 30;
/** A search looks through a stretch of the trail; an earlier reference takes several. */
const mostCalls = 10;

/**
 * Explains a refusal by the reference that its page shows: what was asked, by what it was refused, what to change. For
 * operators also without an organization.
 */
export const whyPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const { everyTenant, tenantId: own } = visit.session();
    if (tenantId === '' && !everyTenant) return goTo(visit, pathOf(own, 'why'));
    const reference = shownParameter(readQuery(visit.request), 'reference').trim();
    const events = await eventsOf(visit, tenantId, reference);
    const of = events.find((event) => event.tenantId !== '')?.tenantId;
    // There people have their names.
    if (tenantId === '' && of !== undefined)
      return goTo(visit, withParameters(pathOf(of, 'why'), { reference }));
    const refused = events.filter(({ outcome }) => outcome === 'failure');
    return visit.send({
      template: 'why',
      data: {
        path: here(visit),
        reference,
        said: messageOf(reference, events, refused),
        refusals: refused.map(explained),
        list: shortList(
          'Everything that this request left',
          ['When', 'What', 'Outcome', 'Person', 'Application'],
          events.map(rowOf),
          'None.',
        ),
      },
    });
  },
};

/** What a request has left, its first event first. */
async function eventsOf(visit: Visit, tenantId: string, reference: string): Promise<readonly AuditEvent[]> {
  const startTime = timestampFromMs(Date.now() - daysBack * dayMs);
  // Without a reference it is asked whether somebody may ask at all.
  const about = reference === '' ? 'nothing' : reference;
  let pageToken = '';
  for (let calls = 0; calls < mostCalls; calls += 1) {
    const request = { tenantId, about, startTime, pageToken };
    const { events, nextPageToken } = await visit.api(AuditService).search(request, visit.call());
    const found = events.filter(({ requestId }) => requestId === reference);
    if (found.length > 0 || nextPageToken === '' || reference === '') return found.toReversed();
    pageToken = nextPageToken;
  }
  return [];
}

function messageOf(reference: string, events: readonly AuditEvent[], refused: readonly AuditEvent[]): string {
  if (reference === '') return 'Every page that refuses something shows a reference. Enter it here.';
  if (events.length === 0)
    return "Nothing is recorded with this reference. Compare it with the page. Some refusals, such as those for a missing parameter, are only in the server's log; others are here for up to 30 days.";
  return refused.length === 0 ? 'Nothing of this request was refused.' : '';
}

/** A refusal: facts in the order of the questions, then what to change. */
function explained(event: AuditEvent) {
  const { tenantId, time, reason, ipAddress, details, subject, event: name } = event;
  const { phase = '', received = '', hint = '' } = details;
  const facts: readonly (readonly [string, Cell])[] = [
    ['What was asked', eventCell(event)],
    ['When', timeOrNone(time)],
    ['Application', clientCell(event, tenantId)],
    ['Person', subjectCell(event, tenantId)],
    ['Organization', { text: tenantId }],
    ['Address', { text: ipAddress }],
    ['Check that failed', { text: phase }],
    ['Reason', { text: reason }],
    ['What was sent', { text: received }],
  ];
  const isUnknown = name === 'auth.login.failed' && reason === 'wrong_credentials' && subject === '';
  return {
    facts: facts.filter(([, cell]) => !('text' in cell) || cell.text !== ''),
    // A hint is in the words of the service that refused.
    hint,
    change: isUnknown
      ? 'Nobody here has the name that was entered. Search for the person, and tell them their user name.'
      : (whatToChange(reason) ??
        (hint === ''
          ? 'The trail says no more. The log of the server has the rest, by this reference.'
          : '')),
  };
}

function rowOf(event: AuditEvent): readonly Cell[] {
  const { tenantId, time } = event;
  return [
    timeOrNone(time),
    eventCell(event),
    outcomeCell({ ...event, requestId: '' }, tenantId),
    subjectCell(event, tenantId),
    clientCell(event, tenantId),
  ];
}
