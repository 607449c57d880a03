import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '@tessera/stores';
import { bench, grant, owner, trail, type Bench } from './fixture.ts';

/** What the record of revoked families must do on every engine. */
export function recordContract(engine: string, open: () => Promise<Database>): void {
  describe(`the revocation feed on ${engine}`, () => {
    let on: Bench;
    let database: Database;
    beforeAll(async () => {
      database = await open();
      on = bench(database);
    });

    const revoke = (familyId: string) =>
      on.refresh.revoke({ familyId, owner: undefined, reason: 'stolen', trail });
    const recordedAfter = async (start: number) =>
      (await on.revocations.changesAfter(start, 1000)).map(({ familyId }) => familyId);

    it('has each revoked family once with its grant, whatever revoked it', async () => {
      const start = await on.revocations.newestChange();
      const [revoked, reused] = [await on.start(), await on.start()];
      await revoke(revoked.familyId);
      await revoke(revoked.familyId);
      const exact = { retryWindowSeconds: 0 };
      await on.refresh.rotate(reused.request(1, exact));
      await on.refresh.rotate(reused.request(1, exact));
      await on.refresh.rotate(reused.request(1, exact));
      const replayed = await on.startAgain();
      const recorded = await on.revocations.changesAfter(start, 100);
      const families = recorded.filter(({ tokenId }) => tokenId === '').map(({ familyId }) => familyId);
      expect(families).toEqual([revoked.familyId, reused.familyId, replayed]);
      expect(recorded.filter(({ tokenId }) => tokenId !== '')).toHaveLength(1);
      for (const record of recorded) {
        const { userId, sessionId, resource } = grant;
        expect(record).toMatchObject({ ...owner, userId, sessionId, resource });
        expect(Math.abs(record.endedAt - Date.now() / 1000)).toBeLessThan(60);
      }
      expect(await on.revocations.newestChange()).toBe(recorded.at(-1)?.sequence);
    });

    it('has no entry for requests that revoked nothing', async () => {
      const start = await on.revocations.newestChange();
      const { familyId, request } = await on.start();
      await on.refresh.rotate(request(1));
      await on.refresh.rotate(request(1));
      await on.refresh.rotate(request(1, { clientId: 'other' }));
      await on.refresh.revoke({ familyId, owner: { ...owner, clientId: 'other' }, reason: '', trail });
      expect(await on.revocations.changesAfter(start, 10)).toEqual([]);
    });

    it('is in the order of the commits, even with concurrent revocations', async () => {
      const families = await Promise.all(Array.from({ length: 120 }, () => on.start()));
      const seen: string[] = [];
      let position = await on.revocations.newestChange();
      let writing = true;
      const reading = (async () => {
        for (;;) {
          const last = !writing;
          for (const { sequence, familyId } of await on.revocations.changesAfter(position, 7)) {
            seen.push(familyId);
            position = sequence;
          }
          if (last && position === (await on.revocations.newestChange())) return;
        }
      })();
      await Promise.all(families.map(({ familyId }) => revoke(familyId)));
      writing = false;
      await reading;
      expect(seen.toSorted()).toEqual(families.map(({ familyId }) => familyId).toSorted());
    });

    it('keeps a week, and knows which positions can be resumed and the position of a time', async () => {
      const before = await on.revocations.newestChange();
      const [old, young] = [await on.start(), await on.start()];
      await revoke(old.familyId);
      const [first] = await on.revocations.changesAfter(before, 1);
      await database.query({
        name: 'test.age_revocations',
        text: `UPDATE token.revocation SET recorded_at = recorded_at - interval '8 days' WHERE sequence <= $1`,
        values: [first?.sequence],
      });
      await revoke(young.familyId);
      const now = Date.now() / 1000;
      expect(await recordedAfter(await on.revocations.positionBefore(now - 3600))).toEqual([young.familyId]);
      expect(await on.revocations.positionBefore(now + 60)).toBe(await on.revocations.newestChange());
      expect(await on.revocations.canResumeAfter(before)).toBe(true);
      while ((await on.revocations.purge(50)) > 0);
      expect(await recordedAfter(0)).toEqual([young.familyId]);
      const newest = await on.revocations.newestChange();
      expect(await on.revocations.canResumeAfter(before)).toBe(false);
      expect(await on.revocations.canResumeAfter(first?.sequence ?? 0)).toBe(true);
      expect(await on.revocations.canResumeAfter(newest)).toBe(true);
      expect(await on.revocations.canResumeAfter(newest + 1)).toBe(false);
      expect(await on.revocations.positionBefore(1)).toBe(first?.sequence);
    });
  });
}
