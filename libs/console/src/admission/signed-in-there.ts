import { SessionsService } from '@tessera/proto-gen/admin-sessions';
import type { Visit } from '../console-visit.ts';

/** Sessions of one person; who has more signs in to the console from one of the latest. */
const most = 1000;

/**
 * Whether the session at the issuer goes on from which somebody has come. The administration API says so, by the token
 * of the person: every built-in role reads sessions.
 */
export async function isSignedInThere({ api, call, session }: Visit): Promise<boolean> {
  const { tenantId, userId, sessionId } = session();
  const request = { tenantId, userId, pageSize: most };
  const { sessions } = await api(SessionsService).list(request, call());
  return sessions.some((found) => found.sessionId === sessionId);
}
