import { beforeEach, describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import type { AuditRow } from '@tessera/audit';
import type { Database } from '@tessera/stores';
import { createLogoutNoticeStore } from './logout-notices.postgres.ts';
import type { LogoutNotice } from './logout-notices.ts';
import { createSessionStore } from './session-store.postgres.ts';
import { firstPosition } from './session-store.postgres.ts';
import type { EndingSession, NewSessionRecord } from './session-store.ts';

const text = () => systemRandom.bytes(16).toString('base64url');
const issuer = 'https://id.example';

function newSession(difference: Partial<NewSessionRecord> = {}): NewSessionRecord {
  return {
    sessionId: text(),
    tokenHash: systemRandom.bytes(32),
    tenantId: 'acme',
    userId: 'u1',
    signedInAt: undefined,
    methods: ['pwd'],
    lifetimeSeconds: 43_200,
    ipAddress: '192.0.2.1',
    userAgentHash: 'agent',
    userAgent: 'Agent/1.0',
    previousTokenHash: undefined,
    knownBrowserHash: systemRandom.bytes(32),
    ...difference,
  };
}

const row = (): AuditRow => {
  const eventId = systemRandom.bytes(13).toString('hex');
  return { eventId, record: JSON.stringify({ eventId, event: 'e', tenantId: 'acme', outcome: 'success' }) };
};
const ending = (sessionId: string, reason: EndingSession['reason'] = 'logout'): EndingSession => ({
  sessionId,
  reason,
  requestId: 'r1',
  audit: row(),
});

/** What the stores of sessions and of logout notices must do together, on every engine. */
export function logoutNoticeContract(engine: string, open: () => Promise<Database>): void {
  describe(`logout notices on ${engine}`, () => {
    const stores = async () => {
      const database = await open();
      return { database, sessions: createSessionStore(database), notices: createLogoutNoticeStore(database) };
    };
    beforeEach(async () => {
      await (await open()).query({ name: 'test.no_notices', text: 'DELETE FROM authorize.logout_notice' });
    });
    /** A live session in which the clients took part. */
    const opened = async (...clients: string[]) => {
      const { sessions } = await stores();
      const record = newSession();
      await sessions.open(record, [], undefined);
      for (const clientId of clients) await sessions.participate(record.sessionId, { clientId, issuer });
      return record;
    };
    const about = (all: readonly LogoutNotice[]) =>
      all
        .map(({ clientId, sessionId }) => [clientId, sessionId] as const)
        .toSorted(([left], [right]) => (left < right ? -1 : 1));

    it('are written with the end of a session: one for each client that took part, whatever it did there', async () => {
      const { sessions, notices } = await stores();
      const { sessionId } = await opened('web', 'shop', 'web');
      expect(await sessions.end(ending(sessionId))).toBe(true);
      const taken = await notices.take(10, 20, []);
      expect(about(taken)).toEqual([
        ['shop', sessionId],
        ['web', sessionId],
      ]);
      const common = { tenantId: 'acme', userId: 'u1', issuer, requestId: 'r1', claim: 1, attempt: 1 };
      for (const notice of taken) expect(notice).toMatchObject(common);
      expect(taken[0]?.remainingSeconds).toBeGreaterThan(7000);
      expect(taken[0]?.noticeId).not.toBe(taken[1]?.noticeId);
    });

    it('are written once by any number of concurrent ends of one session', async () => {
      const { sessions, notices } = await stores();
      const { sessionId } = await opened('web', 'shop');
      const ends = await Promise.all(Array.from({ length: 12 }, () => sessions.end(ending(sessionId))));
      expect(ends.filter(Boolean)).toHaveLength(1);
      expect(await notices.take(10, 20, [])).toHaveLength(2);
    });

    it('miss no client that takes part while the session ends: it is refused or notified', async () => {
      const { sessions, notices } = await stores();
      for (let round = 0; round < 10; round += 1) {
        const { sessionId } = await opened();
        const clients = Array.from({ length: 6 }, (_, index) => `c${index}`);
        const joining = clients.map((clientId) => sessions.participate(sessionId, { clientId, issuer }));
        const [joined] = await Promise.all([Promise.all(joining), sessions.end(ending(sessionId))]);
        const taken = await notices.take(100, 20, []);
        expect(about(taken).map(([clientId]) => clientId)).toEqual(
          clients.filter((_, index) => joined[index]),
        );
      }
    });

    it('accept a client twice at the same time', async () => {
      const { sessions } = await stores();
      const { sessionId } = await opened();
      const same = Array.from({ length: 8 }, () =>
        sessions.participate(sessionId, { clientId: 'web', issuer }),
      );
      expect(await Promise.all(same)).toEqual(Array.from({ length: 8 }, () => true));
      await sessions.end(ending(sessionId));
      expect(await sessions.participate(sessionId, { clientId: 'web', issuer })).toBe(false);
    });

    it('follow a person who signs in again, each client under the sid that it knows', async () => {
      const { sessions, notices } = await stores();
      const before = await opened('web', 'shop');
      const next = newSession({ previousTokenHash: before.tokenHash });
      await sessions.open(next, [], ending(before.sessionId, 'replaced'));
      expect(await notices.take(10, 20, [])).toEqual([]);
      await sessions.participate(next.sessionId, { clientId: 'web', issuer });
      await sessions.end(ending(next.sessionId));
      expect(about(await notices.take(10, 20, []))).toEqual([
        ['shop', before.sessionId],
        ['web', next.sessionId],
      ]);
    });

    it('are written when another person signs in, and not again when that person signs out', async () => {
      const { sessions, notices } = await stores();
      const before = await opened('web');
      const next = newSession({ userId: 'u2', previousTokenHash: before.tokenHash });
      await sessions.open(next, [], ending(before.sessionId, 'replaced'));
      expect(about(await notices.take(10, 20, []))).toEqual([['web', before.sessionId]]);
      await sessions.end(ending(next.sessionId));
      expect(await notices.take(10, 20, [])).toEqual([]);
    });

    it('do not follow into a session that a person opens after signing out', async () => {
      const { sessions, notices } = await stores();
      const before = await opened('web');
      await sessions.end(ending(before.sessionId));
      await notices.take(10, 20, []);
      const next = newSession({ previousTokenHash: before.tokenHash });
      await sessions.open(next, [], undefined);
      await sessions.end(ending(next.sessionId));
      expect(await notices.take(10, 20, [])).toEqual([]);
    });

    it('are taken by exactly one of twenty concurrent processes, and not while the client is skipped', async () => {
      const { sessions, notices } = await stores();
      const { sessionId } = await opened('web');
      await sessions.end(ending(sessionId));
      expect(await notices.take(10, 20, ['web'])).toEqual([]);
      const taken = await Promise.all(Array.from({ length: 20 }, () => notices.take(10, 20, [])));
      expect(taken.flat()).toHaveLength(1);
    });

    it('are taken again after a lease, a retry or a return, and count only attempts', async () => {
      const { sessions, notices } = await stores();
      const { sessionId } = await opened('web');
      await sessions.end(ending(sessionId));
      const [first] = (await notices.take(1, 0, [])) as [LogoutNotice];
      const [second] = (await notices.take(1, 20, [])) as [LogoutNotice];
      expect(second).toMatchObject({ noticeId: first.noticeId, claim: 2, attempt: 2 });
      await notices.retry(first, 0);
      expect(await notices.take(1, 20, [])).toEqual([]);
      await notices.giveBack(second, 0);
      const [third] = (await notices.take(1, 20, [])) as [LogoutNotice];
      expect(third).toMatchObject({ claim: 3, attempt: 2 });
      await notices.retry(third, 0);
      expect(await notices.take(1, 20, [])).toMatchObject([{ claim: 4, attempt: 3 }]);
    });

    it('end with their audit row, by the latest claim alone', async () => {
      const { database, sessions, notices } = await stores();
      const { sessionId } = await opened('web');
      await sessions.end(ending(sessionId));
      const [first] = (await notices.take(1, 0, [])) as [LogoutNotice];
      const [second] = (await notices.take(1, 0, [])) as [LogoutNotice];
      expect(await notices.finish(first, row())).toBe(false);
      const audit = row();
      expect(await notices.finish(second, audit)).toBe(true);
      expect(await notices.take(1, 0, [])).toEqual([]);
      const { rowCount } = await database.query({
        name: 'test.notice_audit',
        text: 'SELECT 1 FROM authorize.audit_event WHERE event_id = $1',
        values: [audit.eventId],
      });
      expect(rowCount).toBe(1);
    });

    it('are purged a day after they expired', async () => {
      const { database, sessions, notices } = await stores();
      const { sessionId } = await opened('web');
      await sessions.end(ending(sessionId));
      expect(await notices.purge(10)).toBe(0);
      await database.query({
        name: 'test.age_notices',
        text: `UPDATE authorize.logout_notice SET expires_at = expires_at - interval '2 days'`,
      });
      expect(await notices.purge(10)).toBe(1);
    });

    it('leave out sessions without participants, ended ones and those of others when sessions are checked', async () => {
      const { sessions } = await stores();
      const userId = text();
      const records = [0, 1, 2, 3].map(() => newSession({ userId }));
      for (const record of records) await sessions.open(record, [], undefined);
      const [one, two, ended] = records as [NewSessionRecord, NewSessionRecord, NewSessionRecord];
      for (const { sessionId } of [one, two, ended]) {
        await sessions.participate(sessionId, { clientId: 'web', issuer });
      }
      await sessions.end(ending(ended.sessionId));
      const expected = [one.sessionId, two.sessionId].toSorted();
      const scope = { tenantId: 'acme', userId };
      const found = await sessions.withParticipants(scope, firstPosition, 10);
      expect(found.map(({ sessionId }) => sessionId)).toEqual(expected);
      expect(await sessions.withParticipants({ tenantId: 'umbra' }, firstPosition, 10)).toEqual([]);
    });

    it('are found page by page when sessions are checked, also of all tenants', async () => {
      const { sessions } = await stores();
      const records = ['umbra', 'hydra', 'acme', 'hydra'].map((tenantId) => newSession({ tenantId }));
      for (const record of records) {
        await sessions.open(record, [], undefined);
        await sessions.participate(record.sessionId, { clientId: 'web', issuer });
      }
      const ids: string[] = [];
      let [next] = await sessions.withParticipants({}, firstPosition, 1);
      while (next !== undefined) {
        ids.push(next.sessionId);
        [next] = await sessions.withParticipants({}, next, 1);
      }
      const ours = records.map(({ sessionId }) => sessionId);
      expect(ids.filter((id) => ours.includes(id)).toSorted()).toEqual(ours.toSorted());
    });
  });
}
