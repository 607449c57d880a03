import { SessionsService, type Session } from '@tessera/proto-gen/admin-sessions';
import { listAddresses, readListRequest, readQuery, type Cell, type List } from '@tessera/pages';
import { actCell, browserCell, timeOrNone } from '../../cells.ts';
import { idOfNamed } from '../../named-person.ts';
import { param, pathOf, type ConsolePage } from '../../console-visit.ts';

/** Where people of an organization are signed in: one call for a page. */
export const sessionsPage: ConsolePage = {
  load: async (visit) => {
    const tenantId = param(visit, 'tenant');
    const path = pathOf(tenantId, 'sessions');
    const asked = readListRequest(readQuery(visit.request));
    const userId = await idOfNamed(visit, asked.search);
    const { sessions, nextPageToken } = await visit
      .api(SessionsService)
      .list({ tenantId, userId, pageToken: asked.pageToken }, visit.call());
    const list: List = {
      caption: 'Sessions',
      columns: ['Person', 'Browser', 'Address', 'Signed in', 'Last used', 'End'],
      rows: sessions.map((session) => rowOf(session, tenantId)),
      empty: 'Nobody is signed in. Search for somebody else, or leave the field empty for everybody.',
      search: { path, label: 'User name, email address or identifier of a person', value: asked.search },
      ...listAddresses(path, asked, nextPageToken),
    };
    return visit.send({ template: 'listed', data: { list } });
  },
};

function rowOf(session: Session, tenantId: string): readonly Cell[] {
  const { userId, username, userAgent, ipAddress, createTime, lastUseTime, sessionId } = session;
  return [
    { text: username || userId, href: pathOf(tenantId, 'people', userId) },
    browserCell(userAgent),
    { text: ipAddress },
    timeOrNone(createTime),
    timeOrNone(lastUseTime),
    actCell('Sign out', pathOf(tenantId, 'people', userId, 'sessions', sessionId, 'end')),
  ];
}
