import { browserName } from '@tessera/languages';
import { rootCall, timestampMs } from '@tessera/rpc';
import { browserContext } from '../browser-context.ts';
import type { PageContext } from '../page-context.ts';
import { noteSessionEnd } from '../session.ts';
import type { AccountResult } from './account-results.ts';
import { resultOf, type AccountSection } from './account-section.ts';

/** The browsers in which a person is signed in. */
export const sessionsSection: AccountSection = {
  name: 'sessions',

  show: ({ account, session, fieldsOf }) => ({
    sessions: account.sessions.map(({ sessionId, userAgent, ipAddress, createTime, lastUseTime }) => ({
      ...browserName(userAgent),
      ipAddress,
      began: createTime && timestampMs(createTime),
      used: lastUseTime && timestampMs(lastUseTime),
      isThis: sessionId === session.sessionId,
      end: fieldsOf('end_session', sessionId),
    })),
    endOthers: account.sessions.length > 1 ? fieldsOf('end_other_sessions') : undefined,
  }),

  changes: {
    end_session: async (context, { target }) =>
      target === '' ? 'unknown' : endSessions(context, target, 'session_ended'),
    end_other_sessions: async (context) => endSessions(context, '', 'sessions_ended'),
  },
};

async function endSessions(
  context: PageContext,
  sessionId: string,
  done: AccountResult,
): Promise<AccountResult> {
  const { app, request, gateway } = context;
  const { problem, sessions } = await gateway.peers.account.endOwnSessions(
    { browser: browserContext(app, request), sessionId },
    rootCall(request.incoming.requestId),
  );
  for (const ended of sessions) await noteSessionEnd(context, ended);
  return resultOf(problem, done);
}
