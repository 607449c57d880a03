import type { EventBase } from '@tessera/audit';
import type { CheckedSession, CheckedSessionStore } from '../store/checked-sessions.postgres.ts';
import type { EndedSession, SessionId } from '../store/session-store.ts';
import type { Sessions } from './sessions.ts';

/** The sessions of refresh tokens that live no longer than they do. */
export interface SessionsOfGrants {
  /** Those that live. */
  check(tenantId: string, sessionIds: readonly string[], uses: boolean): Promise<CheckedSession[]>;
  /**
   * Ends the session that lives in place of one, or the one itself; undefined if it is not known. Can be repeated after
   * a failure.
   */
  end(by: EventBase, session: SessionId): Promise<EndedSession | undefined>;
}

export function createSessionsOfGrants(deps: {
  readonly store: CheckedSessionStore;
  readonly sessions: Pick<Sessions, 'endFor'>;
  readonly idleSeconds: number;
}): SessionsOfGrants {
  const { store, sessions, idleSeconds } = deps;
  const check = async (tenantId: string, sessionIds: readonly string[], uses: boolean) =>
    store.check(tenantId, sessionIds, { idleSeconds, uses });
  return {
    check,
    async end(by, { tenantId, sessionId: askedId }) {
      const [live] = await check(tenantId, [askedId], false);
      return sessions.endFor(by, { tenantId, sessionId: live?.sessionId ?? askedId }, 'application');
    },
  };
}
