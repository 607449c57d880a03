import type { DirectoryClient } from '@tessera/directory-client';
import type { BrowserCall } from '../browser-call.ts';
import type { PresentPerson } from '../interaction/present-person.ts';
import { counts } from '../sessions/counts.ts';
import type { Sessions } from '../sessions/sessions.ts';
import { firstPosition } from '../store/session-store.postgres.ts';
import type { EndedSession, LiveSession, SessionPosition, SessionStore } from '../store/session-store.ts';

/** Sessions that are shown, and ended by one call. */
const mostSessions = 100;

interface OwnSessionsDeps {
  readonly store: Pick<SessionStore, 'live'>;
  readonly directory: Pick<DirectoryClient, 'tenant'>;
  readonly sessions: Pick<Sessions, 'endElsewhere'>;
  readonly idleSeconds: number;
}

/** A person's sessions that count, this one first, then the last used. */
export async function liveSessions(
  { store, directory, idleSeconds }: OwnSessionsDeps,
  { session, user }: PresentPerson,
  { call }: BrowserCall,
): Promise<LiveSession[]> {
  const scope = { tenantId: session.tenantId, userIds: [session.userId], idleSeconds };
  const found = await store.live(scope, firstPosition, mostSessions);
  const tenant = await directory.tenant(session.tenantId, call.onward());
  const isOther = ({ sessionId }: LiveSession): number => Number(sessionId !== session.sessionId);
  return found
    .filter(({ authentication }) => counts(tenant, user, authentication))
    .toSorted((one, other) => isOther(one) - isOther(other) || other.lastSeenAt - one.lastSeenAt);
}

/** Ends a person's sessions but this one; resolves with those that this call ended. */
export async function endOthers(
  { store, sessions, idleSeconds }: OwnSessionsDeps,
  { session }: PresentPerson,
  from: BrowserCall,
): Promise<EndedSession[]> {
  const scope = { tenantId: session.tenantId, userIds: [session.userId], idleSeconds };
  const over: EndedSession[] = [];
  let after: SessionPosition = firstPosition;
  for (;;) {
    const found = await store.live(scope, after, mostSessions);
    for (const { sessionId } of found) {
      if (sessionId === session.sessionId) continue;
      const ended = await sessions.endElsewhere(from, session, sessionId);
      if (ended !== undefined) over.push(ended);
    }
    const last = found.at(-1);
    if (last === undefined || found.length < mostSessions) return over;
    after = last;
  }
}
