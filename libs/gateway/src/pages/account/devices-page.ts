import { browserName } from '@tessera/languages';
import { rootCall, timestampMs } from '@tessera/rpc';
import { browserContext } from '../browser-context.ts';
import type { PageContext } from '../page-context.ts';
import { noteSessionEnd } from '../session.ts';
import type { AccountResult } from './sections/account-results.ts';
import { resultOf, type AccountContent, type AccountSection } from './sections/account-section.ts';

const sessions: AccountSection = {
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

/** The browsers in which a person is signed in. */
export const devices: AccountContent = { name: 'devices', template: 'account-devices', sections: [sessions] };

async function endSessions(
  context: PageContext,
  sessionId: string,
  done: AccountResult,
): Promise<AccountResult> {
  const { app, request, gateway } = context;
  const { problem, sessions: over } = await gateway.peers.account.endOwnSessions(
    { browser: browserContext(app, request), sessionId },
    rootCall(request.incoming.requestId),
  );
  for (const ended of over) await noteSessionEnd(context, ended);
  return resultOf(problem, done);
}
