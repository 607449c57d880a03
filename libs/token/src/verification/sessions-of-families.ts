import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import type { CallOptions, Client } from '@tessera/rpc';

/** Seconds until a session ends if it is not used, and at the latest. */
export interface LiveSession {
  readonly idleSeconds: number;
  readonly remainingSeconds: number;
}

/** The sessions that refresh tokens without `offline_access` end with. Throws `temporarily_unavailable`. */
export interface LiveSessions {
  /** A use of a session, so that it does not end for lack of one; undefined if it has ended. */
  use(tenantId: string, sessionId: string, call: CallOptions): Promise<LiveSession | undefined>;
  /** Those of these that live. */
  among(tenantId: string, sessionIds: readonly string[], call: CallOptions): Promise<ReadonlySet<string>>;
}

export function createLiveSessions(
  authorize: Pick<Client<typeof AuthorizeService>, 'checkSessions'>,
): LiveSessions {
  return {
    async use(tenantId, sessionId, call) {
      const request = { tenantId, sessionIds: [sessionId], uses: true };
      const [session] = (await authorize.checkSessions(request, call)).sessions;
      // What ends within this second has ended: nothing may outlive it.
      return session === undefined || session.idleSeconds < 1 ? undefined : session;
    },
    async among(tenantId, sessionIds, call) {
      if (sessionIds.length === 0) return new Set();
      const request = { tenantId, sessionIds: [...new Set(sessionIds)], uses: false };
      const { sessions } = await authorize.checkSessions(request, call);
      return new Set(sessions.map(({ sessionId }) => sessionId));
    },
  };
}
