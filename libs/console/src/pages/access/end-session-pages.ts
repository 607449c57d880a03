import { browserName } from '@tessera/languages';
import { SessionsService, type Session } from '@tessera/proto-gen/admin-sessions';
import { confirmedOfPerson, type Sentence, type Whose } from '../../confirmed.ts';
import { param, type Visit } from '../../console-visit.ts';

const shownAtMost = 100;

/** Signs a person out of one browser. */
export const endSessionPage = confirmedOfPerson({
  message:
    '{name} has to sign in again in this browser. Applications keep what they have until you take it back.',
  label: 'Sign out',
  ends: async (visit, whose) => {
    const sessionId = param(visit, 'session');
    return endsOf((await sessionsOf(visit, whose)).filter((session) => session.sessionId === sessionId));
  },
  act: async (visit, { tenantId }) => {
    const whose = { case: 'sessionId', value: param(visit, 'session') } as const;
    await visit.api(SessionsService).endSessions({ tenantId, whose }, visit.call());
    return { title: 'The session is over', message: 'This browser is signed out.' };
  },
});

/** Signs a person out of all browsers. */
export const signOutEverywherePage = confirmedOfPerson({
  message: '{name} has to sign in again everywhere. Applications keep what they have until you take it back.',
  label: 'Sign out everywhere',
  ends: async (visit, whose) => endsOf(await sessionsOf(visit, whose)),
  act: async ({ api, call }, { tenantId, userId }) => {
    const whose = { case: 'userId', value: userId } as const;
    const { sessions } = await api(SessionsService).endSessions({ tenantId, whose }, call());
    return {
      title: 'This person is signed out everywhere',
      message: 'Lock the account down if somebody else may know the password.',
      ends: [
        [
          '{count, plural, one {# session has ended} other {# sessions have ended}}',
          { count: sessions.length },
        ],
      ],
    };
  },
});

async function sessionsOf({ api, call }: Visit, { tenantId, userId }: Whose): Promise<readonly Session[]> {
  const request = { tenantId, userId, pageSize: shownAtMost };
  return (await api(SessionsService).list(request, call())).sessions;
}

function endsOf(sessions: readonly Session[]): readonly Sentence[] {
  if (sessions.length === 0) return [['Nothing is open that would end.']];
  return sessions.map(({ ipAddress: address, userAgent }) => {
    const browser = browserName(userAgent)?.browser ?? userAgent;
    return browser === ''
      ? ['The session at {address} ends', { address }]
      : ['The session of {browser} at {address} ends', { browser, address }];
  });
}
