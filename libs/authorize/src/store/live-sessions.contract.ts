import { describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { age, ending, idleSeconds, opened } from './session-store.contract.ts';
import { createSessionStore } from './session-store.postgres.ts';
import { firstPosition } from './session-store.postgres.ts';
import type { SessionPosition } from './session-store.ts';

/** What the pages of live sessions must do on every engine. */
export function liveSessionsContract(engine: string, open: () => Promise<Database>): void {
  describe(`the live sessions on ${engine}`, () => {
    it('pages through the live sessions of a tenant, or of some of its people, in order', async () => {
      const database = await open();
      const store = createSessionStore(database);
      const tenantId = systemRandom.bytes(8).toString('hex');
      const of = async (userId: string) => (await opened(store, { tenantId, userId })).session;
      const [bob, ada, another, idle] = [await of('bob'), await of('ada'), await of('ada'), await of('ada')];
      const ended = await of('ada');
      await store.end(ending(ended.sessionId));
      await age(database, idle.sessionId, idleSeconds + 1);
      await opened(store, { userId: 'ada' });
      const ordered = [ada, another].toSorted((one, other) => (one.sessionId < other.sessionId ? -1 : 1));
      const ids = [...ordered, bob].map(({ sessionId }) => sessionId);
      const live = async (userIds: readonly string[] | undefined, after: SessionPosition, limit: number) =>
        (await store.live({ tenantId, userIds, idleSeconds }, after, limit)).map(
          ({ sessionId }) => sessionId,
        );
      expect(await live(undefined, firstPosition, 2)).toEqual(ids.slice(0, 2));
      expect(await live(undefined, ordered[1] ?? bob, 2)).toEqual(ids.slice(2));
      expect(await live(['ada', 'eve'], firstPosition, 10)).toEqual(ids.slice(0, 2));
      expect(await live(['ada'], ordered[0] ?? bob, 10)).toEqual(ids.slice(1, 2));
      expect(await live(['eve'], firstPosition, 10)).toEqual([]);
    });
  });
}
