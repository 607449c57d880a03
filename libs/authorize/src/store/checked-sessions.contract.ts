import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '@tessera/stores';
import { createCheckedSessionStore, type CheckedSession } from './checked-sessions.postgres.ts';
import { age, ending, idleSeconds, opened } from './session-store.contract.ts';
import { createSessionStore } from './session-store.postgres.ts';
import type { NewSessionRecord } from './session-store.ts';

/** What the check of sessions that refresh tokens belong to must do, on every engine. */
export function checkedSessionContract(engine: string, open: () => Promise<Database>): void {
  describe(`checked sessions on ${engine}`, () => {
    let database: Database;
    beforeAll(async () => {
      database = await open();
    });
    const store = () => createSessionStore(database);
    const check = async (ids: readonly string[], uses = false, tenantId = 'acme') =>
      createCheckedSessionStore(database).check(tenantId, ids, { idleSeconds, uses });
    const checkOne = async (sessionId: string, uses = false): Promise<CheckedSession | undefined> =>
      (await check([sessionId], uses))[0];
    /** The next sign-in in the browser of a session, which it replaces. */
    const signInAgain = async (
      { sessionId, tokenHash }: NewSessionRecord,
      difference: Partial<NewSessionRecord> = {},
    ) => {
      await store().end(ending(sessionId, 'replaced'));
      return (await opened(store(), { previousTokenHash: tokenHash, ...difference })).record;
    };

    it('finds those of the tenant that live, and until when', async () => {
      const { record: lives } = await opened(store(), { lifetimeSeconds: 7_200 });
      const { record: ended } = await opened(store());
      await store().end(ending(ended.sessionId));
      const { record: idle } = await opened(store());
      await age(database, idle.sessionId, idleSeconds + 1);
      const { record: expired } = await opened(store(), { lifetimeSeconds: 100 });
      await age(database, expired.sessionId, 101);
      const ids = [lives, ended, idle, expired].map(({ sessionId }) => sessionId);
      const found = await check([...ids, 'unknown']);
      expect(found).toMatchObject([{ askedId: lives.sessionId, sessionId: lives.sessionId }]);
      const [{ idleSeconds: idling, remainingSeconds } = { idleSeconds: 0, remainingSeconds: 0 }] = found;
      expect([Math.ceil(idling / 60), Math.ceil(remainingSeconds / 60)]).toEqual([60, 120]);
      expect(await check(ids, false, 'umbra')).toEqual([]);
      expect(await check([])).toEqual([]);
    });

    it('says no later end for lack of a use than the absolute one', async () => {
      const { record } = await opened(store(), { lifetimeSeconds: 600 });
      const found = await checkOne(record.sessionId);
      expect(found?.idleSeconds).toBeLessThanOrEqual(600);
      expect(found?.idleSeconds).toBe(found?.remainingSeconds);
    });

    it('is a use only where it says so, which is recorded at most once a minute', async () => {
      const { record } = await opened(store());
      const { sessionId } = record;
      await age(database, sessionId, 600);
      expect((await checkOne(sessionId))?.idleSeconds).toBeLessThanOrEqual(3_000);
      expect((await checkOne(sessionId, true))?.idleSeconds).toBeGreaterThan(3_590);
      expect((await checkOne(sessionId))?.idleSeconds).toBeGreaterThan(3_500);
      await age(database, sessionId, 50);
      expect((await checkOne(sessionId, true))?.idleSeconds).toBeLessThanOrEqual(3_550);
    });

    it('never revives one that ends meanwhile', async () => {
      for (let round = 0; round < 20; round += 1) {
        const { record } = await opened(store());
        await age(database, record.sessionId, 70);
        const uses = Array.from({ length: 8 }, async () => checkOne(record.sessionId, true));
        await store().end(ending(record.sessionId));
        expect(await checkOne(record.sessionId, true)).toBeUndefined();
        await Promise.all(uses);
        expect(await checkOne(record.sessionId)).toBeUndefined();
      }
    });

    it('follows a session to the one that the same person has in its place, and ends with that one', async () => {
      const { record: first } = await opened(store());
      const second = await signInAgain(first);
      const third = await signInAgain(second);
      await age(database, third.sessionId, 600);
      const found = await check(
        [first, second, third].map(({ sessionId }) => sessionId),
        true,
      );
      expect(found.map(({ sessionId }) => sessionId)).toEqual(
        Array.from({ length: 3 }, () => third.sessionId),
      );
      expect((await checkOne(third.sessionId))?.idleSeconds).toBeGreaterThan(3_500);
      await store().end(ending(third.sessionId));
      expect(await check([first, second, third].map(({ sessionId }) => sessionId))).toEqual([]);
    });

    it('follows none to the session of another person, or that was not replaced, or got lost on its way', async () => {
      const { record: replaced } = await opened(store());
      await signInAgain(replaced, { userId: 'u2' });
      expect(await checkOne(replaced.sessionId)).toBeUndefined();
      const { record: over } = await opened(store());
      await store().end(ending(over.sessionId));
      await opened(store(), { previousTokenHash: over.tokenHash });
      expect(await checkOne(over.sessionId)).toBeUndefined();
      const { record: first } = await opened(store());
      await signInAgain(first);
      const { record: again } = await opened(store(), { previousTokenHash: first.tokenHash });
      expect((await checkOne(first.sessionId))?.sessionId).toBe(again.sessionId);
      await store().end(ending(again.sessionId));
      expect(await checkOne(first.sessionId)).toBeUndefined();
    });
  });
}
