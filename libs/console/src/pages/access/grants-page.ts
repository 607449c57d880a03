import { ConsentsService, type Consent } from '@tessera/proto-gen/admin-consents';
import { GrantsService, type Grant } from '@tessera/proto-gen/admin-grants';
import {
  listAddresses,
  readListRequest,
  readQuery,
  shownParameter,
  type Cell,
  type List,
} from '@tessera/pages';
import { actCell, timeOrNone } from '../../cells.ts';
import { idOfNamed } from '../../named-person.ts';
import { param, pathOf, type ConsolePage, type Visit } from '../../console-visit.ts';

/**
 * What applications may do for people: what people have allowed them, and, of a person or an application, what keeps
 * access while nobody is there. One call for a page.
 */
export const grantsPage: ConsolePage = {
  load: async (visit) => {
    const path = pathOf(param(visit, 'tenant'), 'access');
    const query = readQuery(visit.request);
    const typed = (name: string) => shownParameter(query, name).trim();
    const narrowed = { person: typed('person'), application: typed('application') };
    const asked = { ...readListRequest(query), filters: narrowed };
    const isNarrow = Object.values(narrowed).some((value) => value !== '');
    const found = isNarrow
      ? await grants(visit, narrowed, asked.pageToken)
      : await consents(visit, asked.pageToken);
    const list: List = { ...found, ...listAddresses(path, asked, found.nextPageToken) };
    return visit.send({ template: 'access', data: { path, narrowed, isNarrow, list } });
  },
};

type Found = Omit<List, 'carried' | 'filters'> & { readonly nextPageToken: string };

async function consents(visit: Visit, pageToken: string): Promise<Found> {
  const tenantId = param(visit, 'tenant');
  const answer = await visit.api(ConsentsService).list({ tenantId, pageToken }, visit.call());
  return {
    nextPageToken: answer.nextPageToken,
    caption: 'What people have allowed',
    columns: ['Person', 'Application', 'May', 'Allowed', 'End'],
    rows: answer.consents.map((consent: Consent) =>
      rowOf(tenantId, { ...consent, time: consent.grantTime, since: undefined }),
    ),
    empty: 'Nobody has allowed an application anything. Search for a person or an application.',
  };
}

async function grants(
  visit: Visit,
  { person, application }: { readonly person: string; readonly application: string },
  pageToken: string,
): Promise<Found> {
  const tenantId = param(visit, 'tenant');
  const userId = await idOfNamed(visit, person);
  const request = { tenantId, userId, clientId: application, pageToken };
  const answer = await visit.api(GrantsService).list(request, visit.call());
  return {
    nextPageToken: answer.nextPageToken,
    caption: 'Applications that keep access',
    columns: ['Person', 'Application', 'May', 'Since', 'Last used', 'End'],
    rows: answer.grants.map((grant: Grant) =>
      rowOf(tenantId, { ...grant, since: grant.createTime, time: grant.lastUseTime }),
    ),
    empty: 'No application keeps access. Search for another person or application.',
  };
}

type Time = Parameters<typeof timeOrNone>[0];

function rowOf(
  tenantId: string,
  {
    userId,
    username,
    clientId,
    scopes,
    since,
    time,
  }: Pick<Grant, 'userId' | 'username' | 'clientId' | 'scopes'> & {
    readonly since: Time;
    readonly time: Time;
  },
): readonly Cell[] {
  return [
    { text: username || userId, href: pathOf(tenantId, 'people', userId) },
    { text: clientId, href: pathOf(tenantId, 'applications', clientId) },
    { text: scopes.join(' ') },
    ...(since === undefined ? [] : [timeOrNone(since)]),
    timeOrNone(time),
    actCell('Take back', pathOf(tenantId, 'people', userId, 'access', clientId)),
  ];
}
