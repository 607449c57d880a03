import { EndedCount, mostAtOnce, partsOf, usersById } from '@tessera/directory-client';
import { meetsPolicy } from '@tessera/oauth';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Ends } from '@tessera/proto-gen/impact';
import type { CallOptions, Client } from '@tessera/rpc';
import { firstPosition } from '../store/session-store.postgres.ts';
import type { LiveSession, SessionStore } from '../store/session-store.ts';
import { counts } from './counts.ts';

/**
 * Counts the sessions that a change would end: those that count now and would not after it. An application has none of
 * its own.
 */
export type CountEndedSessions = (ends: Ends | undefined, call: () => CallOptions) => Promise<EndedCount>;

export function createSessionCount({
  sessions,
  directory,
  idleSeconds,
}: {
  readonly sessions: Pick<SessionStore, 'live'>;
  readonly directory: Pick<Client<typeof DirectoryService>, 'batchGetUsers' | 'getTenant'>;
  readonly idleSeconds: number;
}): CountEndedSessions {
  return async (ends, call) => {
    const count = new EndedCount();
    if (ends === undefined) return count;
    const { tenantId, authenticationPolicy } = ends;
    const everything = ends.everything || authenticationPolicy !== undefined;
    // Of a new tenant there is nothing, nor the tenant.
    if (!everything && ends.userIds.length === 0) return count;
    const { tenant } = await directory.getTenant({ tenantId }, call());
    const ending = new Set(ends.userIds);
    const stays = ({ userId, authentication: { methods } }: LiveSession): boolean =>
      !ends.everything && !ending.has(userId) && meetsPolicy(authenticationPolicy ?? '', methods);
    for (const userIds of partsOf({ everything, userIds: ends.userIds })) {
      const scope = { tenantId, userIds, idleSeconds };
      let page = await sessions.live(scope, firstPosition, mostAtOnce);
      for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
        const users = await usersById(
          directory,
          tenantId,
          page.map(({ userId }) => userId),
          call(),
        );
        for (const session of page) {
          const user = users.get(session.userId);
          if (user === undefined || !counts(tenant, user, session.authentication) || stays(session)) continue;
          count.add({ id: session.sessionId, username: user.username, clientId: '' });
        }
        page = page.length < mostAtOnce ? [] : await sessions.live(scope, last, mostAtOnce);
      }
    }
    return count;
  };
}
