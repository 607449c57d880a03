import { rootCall } from '@tessera/rpc';
import type { EndedSession, NewSession } from '@tessera/proto-gen/authorize';
import type { Gateway } from '../gateway.ts';
import { writeCookie } from '../http/cookies.ts';
import type { Incoming } from '../http/incoming.ts';
import type { PageContext } from './page-context.ts';

/**
 * Gives the browser its new session and makes it known, after the end of a previous person's session has been recorded.
 */
export async function giveSession(
  context: PageContext,
  { sessionToken, maxAge, ended, knownBrowser }: NewSession,
): Promise<void> {
  if (ended !== undefined) await noteSessionEnd(context, ended);
  const { request, reply } = context;
  writeCookie(request, reply, 'session', sessionToken, maxAge);
  if (knownBrowser !== undefined) {
    writeCookie(request, reply, 'knownBrowser', knownBrowser.token, knownBrowser.maxAge);
  }
}

/** What the report of an end needs of a request. */
interface Noting {
  readonly request: { readonly incoming: Pick<Incoming, 'requestId'> };
  readonly gateway: Pick<Gateway, 'peers'>;
}

/**
 * Reports the end of a session, and of the person's earlier ones, to `token`. Await it before answering: a session that
 * the person has seen end must not be revived by an older copy of the codes in Redis.
 */
export async function noteSessionEnd(
  context: Noting,
  { tenantId, sessionId, earlierSessionIds }: Omit<EndedSession, '$typeName'>,
): Promise<void> {
  await Promise.all([sessionId, ...earlierSessionIds].map((ended) => noteEnd(context, tenantId, ended)));
}

async function noteEnd({ request, gateway }: Noting, tenantId: string, sessionId: string): Promise<void> {
  await gateway.peers.token.noteSessionEnd({ tenantId, sessionId }, rootCall(request.incoming.requestId));
}
