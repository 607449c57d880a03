import { EndedCount, isActive, mostAtOnce, partsOf, usersById } from '@tessera/directory-client';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Ends } from '@tessera/proto-gen/impact';
import type { CallOptions, Client } from '@tessera/rpc';
import { firstPosition, type SessionStore } from '../store/store.ts';

/** Counts the sessions that a change would end: those of its people that count now. An application has none of its own. */
export type CountEndedSessions = (ends: Ends | undefined, call: () => CallOptions) => Promise<EndedCount>;

export function createSessionCount({
  sessions,
  directory,
  idleSeconds,
}: {
  readonly sessions: Pick<SessionStore, 'live'>;
  readonly directory: Pick<Client<typeof DirectoryService>, 'batchGetUsers'>;
  readonly idleSeconds: number;
}): CountEndedSessions {
  return async (ends, call) => {
    const count = new EndedCount();
    if (ends === undefined) return count;
    const { tenantId } = ends;
    for (const userIds of partsOf(ends)) {
      const scope = { tenantId, userIds, idleSeconds };
      let page = await sessions.live(scope, firstPosition, mostAtOnce);
      for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
        const users = await usersById(
          directory,
          tenantId,
          page.map(({ userId }) => userId),
          call(),
        );
        for (const { sessionId: id, userId, authentication } of page) {
          const user = users.get(userId);
          if (user === undefined || !isActive(user, authentication.time)) continue;
          count.add({ id, username: user.username, clientId: '' });
        }
        page = page.length < mostAtOnce ? [] : await sessions.live(scope, last, mostAtOnce);
      }
    }
    return count;
  };
}
