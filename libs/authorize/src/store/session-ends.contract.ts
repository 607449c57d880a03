import { describe, expect, it } from 'vitest';
import { auditRow } from '@tessera/audit';
import { systemClock, systemRandom } from '@tessera/kit';
import { type Database } from '@tessera/stores';
import { createSessionEndStore } from './session-ends.postgres.ts';
import { createSessionStore } from './session-store.postgres.ts';
import type { EndingSession, NewSessionRecord } from './session-store.ts';

const text = (bytes: number) => systemRandom.bytes(bytes).toString('base64url');
const audit = () =>
  auditRow(
    { event: 'session.ended', outcome: 'success', tenantId: 'acme' },
    { clock: systemClock, random: systemRandom },
  );

/** What the record of ended sessions must do, on every engine. */
export function sessionEndContract(engine: string, open: () => Promise<Database>): void {
  describe(`the record of ended sessions on ${engine}`, () => {
    const fresh = (): NewSessionRecord => ({
      sessionId: text(16),
      tokenHash: systemRandom.bytes(32),
      tenantId: 'acme',
      userId: 'u1',
      signedInAt: undefined,
      methods: ['pwd'],
      lifetimeSeconds: 60,
      ipAddress: '192.0.2.1',
      userAgentHash: 'agent',
      userAgent: 'Agent/1.0',
      previousTokenHash: undefined,
      knownBrowserHash: systemRandom.bytes(32),
    });
    const ending = (sessionId: string, reason: EndingSession['reason'] = 'logout'): EndingSession => ({
      sessionId,
      reason,
      requestId: '',
      audit: audit(),
    });

    it('lists each session once, whether signed out or replaced, and none that had ended before', async () => {
      const database = await open();
      const [sessions, ends] = [createSessionStore(database), createSessionEndStore(database)];
      const [first, second] = [fresh(), fresh()];
      const start = await ends.newestChange();
      await sessions.open(first, [audit()], undefined);
      await sessions.open(second, [audit()], ending(first.sessionId, 'replaced'));
      expect(await sessions.end(ending(first.sessionId))).toBe(false);
      expect(await sessions.end(ending(second.sessionId))).toBe(true);
      expect(await sessions.end(ending(second.sessionId))).toBe(false);
      const changes = await ends.changesAfter(start, 100);
      expect(changes.map(({ sessionId, userId, tenantId }) => [sessionId, userId, tenantId])).toEqual([
        [first.sessionId, 'u1', 'acme'],
        [second.sessionId, 'u1', 'acme'],
      ]);
      expect(await ends.newestChange()).toBe(changes.at(-1)?.sequence);
    });

    it('is in the order of the commits, however many sessions end at once', async () => {
      const database = await open();
      const [sessions, ends] = [createSessionStore(database), createSessionEndStore(database)];
      const all = Array.from({ length: 60 }, fresh);
      for (const session of all) await sessions.open(session, [audit()], undefined);
      const seen: string[] = [];
      let position = await ends.newestChange();
      let writing = true;
      const reading = (async () => {
        for (;;) {
          const last = !writing;
          for (const { sequence, sessionId } of await ends.changesAfter(position, 7)) {
            seen.push(sessionId);
            position = sequence;
          }
          if (last && position === (await ends.newestChange())) return;
        }
      })();
      await Promise.all(all.map(({ sessionId }) => sessions.end(ending(sessionId))));
      writing = false;
      await reading;
      expect(seen.toSorted()).toEqual(all.map(({ sessionId }) => sessionId).toSorted());
    });

    it('keeps a week, and knows from where it can be resumed and the position of a time', async () => {
      const database = await open();
      const [sessions, ends] = [createSessionStore(database), createSessionEndStore(database)];
      const [old, young] = [fresh(), fresh()];
      const before = await ends.newestChange();
      for (const session of [old, young]) {
        await sessions.open(session, [audit()], undefined);
        await sessions.end(ending(session.sessionId));
      }
      const [first, second] = await ends.changesAfter(before, 10);
      expect(await ends.canResumeAfter(before)).toBe(true);
      await database.query({
        name: 'test.age_ends',
        text: `UPDATE authorize.session_end SET recorded_at = recorded_at - interval '8 days' WHERE sequence <= $1`,
        values: [first?.sequence],
      });
      const hourAgo = Date.now() / 1000 - 3600;
      expect(await ends.changesAfter(await ends.positionBefore(hourAgo), 10)).toEqual([second]);
      expect(await ends.positionBefore(hourAgo + 7200)).toBe(await ends.newestChange());
      expect(await ends.positionBefore(2 ** 63), 'in no year of the database').toBe(
        await ends.newestChange(),
      );
      expect(await ends.canResumeAfter(2 ** 63)).toBe(false);
      while ((await ends.purge(10)) > 0);
      expect(await ends.positionBefore(1)).toBe(first?.sequence);
      expect(await ends.changesAfter(0, 10)).toEqual([second]);
      expect(await ends.canResumeAfter(before)).toBe(false);
      expect(await ends.canResumeAfter(first?.sequence ?? 0)).toBe(true);
      expect(await ends.canResumeAfter(second?.sequence ?? 0)).toBe(true);
      expect(await ends.canResumeAfter((second?.sequence ?? 0) + 1)).toBe(false);
    });
  });
}
