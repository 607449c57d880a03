import { Code, ConnectError, rootCall } from '@tessera/rpc';
import type { EndedSession, NewSession } from '@tessera/proto-gen/authorize';
import { writeCookie } from '../http/cookies.ts';
import type { Visit } from './handler.ts';

/** Gives the browser its new session, once it is certain that nothing comes of the one of another person before it. */
export async function giveSession(visit: Visit, { sessionToken, maxAge, ended }: NewSession): Promise<void> {
  if (ended !== undefined) await noteSessionEnd(visit, ended);
  writeCookie(visit.request, visit.reply, 'session', sessionToken, maxAge);
}

/**
 * Tells `token` that a session was ended, and with it the earlier ones of its person. To be done before the answer: what a
 * person is told of as over must not come back with an older copy of the codes.
 */
export async function noteSessionEnd(
  visit: Visit,
  { tenantId, sessionId, earlierSessionIds }: Omit<EndedSession, '$typeName'>,
): Promise<void> {
  await Promise.all([sessionId, ...earlierSessionIds].map((ended) => noteEnd(visit, tenantId, ended)));
}

/** A `token` of the version before knows nothing of ends, and holds to what it knew. */
async function noteEnd({ request, gateway }: Visit, tenantId: string, sessionId: string): Promise<void> {
  try {
    await gateway.peers.token.noteSessionEnd({ tenantId, sessionId }, rootCall(request.incoming.requestId));
  } catch (error) {
    if (!(error instanceof ConnectError && error.code === Code.Unimplemented)) throw error;
  }
}
