import { describe, expect, it } from 'vitest';
import { auditRow } from '@tessera/audit';
import { systemClock, systemRandom } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { createKnownBrowserStore } from './known-browsers.postgres.ts';
import { createSessionStore } from './session-store.postgres.ts';
import type { NewSessionRecord } from './session-store.ts';

const text = (bytes: number) => systemRandom.bytes(bytes).toString('base64url');

function newSession(difference: Partial<NewSessionRecord> = {}): NewSessionRecord {
  return {
    sessionId: text(16),
    tokenHash: systemRandom.bytes(32),
    tenantId: 'acme',
    userId: text(8),
    signedInAt: undefined,
    methods: ['pwd'],
    lifetimeSeconds: 60,
    ipAddress: '192.0.2.1',
    userAgentHash: 'agent',
    userAgent: 'Agent/1.0',
    previousTokenHash: undefined,
    knownBrowserHash: systemRandom.bytes(32),
    ...difference,
  };
}

const audit = () =>
  auditRow(
    { event: 'session.ended', outcome: 'success', tenantId: 'acme' },
    { clock: systemClock, random: systemRandom },
  );

const of = (tenantId: string, userId: string, lockedDownAt = 0) => ({ tenantId, userId, lockedDownAt });

async function countOf(database: Database, userId: string): Promise<number> {
  const { rows } = await database.query<{ count: number }>({
    name: 'test.count_known_browsers',
    text: 'SELECT count(*)::float8 AS count FROM authorize.known_browser WHERE user_id = $1',
    values: [userId],
  });
  return rows[0]?.count ?? 0;
}

/** Moves the last use of a person's browsers into the past. */
async function age(database: Database, userId: string, days: number): Promise<void> {
  await database.query({
    name: 'test.age_known_browsers',
    text: `UPDATE authorize.known_browser SET last_used_at = last_used_at - make_interval(days => $2)
      WHERE user_id = $1`,
    values: [userId, days],
  });
}

/** What the store of known browsers must do, on every engine. */
export function knownBrowserContract(engine: string, open: () => Promise<Database>): void {
  describe(`known browsers on ${engine}`, () => {
    knowledgeContract(open);
    boundContract(open);
    raceContract(open);
  });
}

function knowledgeContract(open: () => Promise<Database>): void {
  it('are known from the sign-in on, for its person and tenant alone', async () => {
    const database = await open();
    const [sessions, browsers] = [createSessionStore(database), createKnownBrowserStore(database)];
    const session = newSession();
    const { knownBrowserHash, tenantId, userId } = session;
    expect(await browsers.isKnown(knownBrowserHash, of(tenantId, userId))).toBe(false);
    await sessions.open(session, [], undefined);
    expect(await browsers.isKnown(knownBrowserHash, of(tenantId, userId))).toBe(true);
    expect(await browsers.isKnown(knownBrowserHash, of('umbra', userId))).toBe(false);
    expect(await browsers.isKnown(knownBrowserHash, of(tenantId, 'u0'))).toBe(false);
    expect(await browsers.isKnown(systemRandom.bytes(32), of(tenantId, userId))).toBe(false);
  });

  it('tell whether a person has signed in here, or anywhere', async () => {
    const database = await open();
    const [sessions, browsers] = [createSessionStore(database), createKnownBrowserStore(database)];
    const session = newSession();
    const { knownBrowserHash, tenantId, userId } = session;
    const before = async (tokenHash: Buffer | undefined, person = of(tenantId, userId)) =>
      browsers.signedInBefore(tokenHash, person);
    expect(await before(knownBrowserHash)).toEqual({ here: false, anywhere: false });
    await sessions.open(session, [], undefined);
    expect(await before(knownBrowserHash)).toEqual({ here: true, anywhere: true });
    for (const other of [systemRandom.bytes(32), undefined])
      expect(await before(other)).toEqual({ here: false, anywhere: true });
    for (const person of [of('umbra', userId), of(tenantId, 'u0')])
      expect(await before(knownBrowserHash, person)).toEqual({ here: false, anywhere: false });
    await age(database, userId, 180);
    expect(await before(knownBrowserHash)).toEqual({ here: false, anywhere: false });
  });

  it('are not known after a lockdown, until the person signs in there again, and were used all the same', async () => {
    const database = await open();
    const [sessions, browsers] = [createSessionStore(database), createKnownBrowserStore(database)];
    const session = newSession();
    const { knownBrowserHash, tenantId, userId } = session;
    await sessions.open(session, [], undefined);
    await age(database, userId, 1);
    const hourAgo = Math.floor(Date.now() / 1000) - 3600;
    const [locked, earlier] = [of(tenantId, userId, hourAgo), of(tenantId, userId, hourAgo - 2 * 86_400)];
    expect(await browsers.isKnown(knownBrowserHash, locked)).toBe(false);
    expect(await browsers.isKnown(knownBrowserHash, earlier)).toBe(true);
    expect(await browsers.signedInBefore(knownBrowserHash, locked)).toEqual({ here: false, anywhere: true });
    expect(await browsers.signedInBefore(knownBrowserHash, earlier)).toEqual({ here: true, anywhere: true });
    await sessions.open(newSession({ userId, knownBrowserHash }), [], undefined);
    expect(await browsers.isKnown(knownBrowserHash, locked)).toBe(true);
    expect(await browsers.signedInBefore(knownBrowserHash, locked)).toEqual({ here: true, anywhere: true });
  });

  it('are remembered in the commit of the session, or neither is', async () => {
    const database = await open();
    const [sessions, browsers] = [createSessionStore(database), createKnownBrowserStore(database)];
    const row = audit();
    await sessions.open(newSession(), [row], undefined);
    const failed = newSession();
    await expect(sessions.open(failed, [row], undefined)).rejects.toThrow(/duplicate|unique/i);
    expect(await browsers.isKnown(failed.knownBrowserHash, of(failed.tenantId, failed.userId))).toBe(false);
  });

  it('stay known after the end of the session, until 180 days after the last sign-in', async () => {
    const database = await open();
    const [sessions, browsers] = [createSessionStore(database), createKnownBrowserStore(database)];
    const session = newSession();
    const { knownBrowserHash, tenantId, userId, sessionId } = session;
    await sessions.open(session, [], undefined);
    await sessions.end({ sessionId, reason: 'logout', requestId: '', audit: audit() });
    await age(database, userId, 179);
    expect(await browsers.isKnown(knownBrowserHash, of(tenantId, userId))).toBe(true);
    await sessions.open(newSession({ userId, knownBrowserHash }), [], undefined);
    await age(database, userId, 179);
    expect(await browsers.isKnown(knownBrowserHash, of(tenantId, userId))).toBe(true);
    expect(await countOf(database, userId)).toBe(1);
    await age(database, userId, 1);
    expect(await browsers.isKnown(knownBrowserHash, of(tenantId, userId))).toBe(false);
  });
}

function boundContract(open: () => Promise<Database>): void {
  it('are ten per person: the one that was not used for longest goes', async () => {
    const database = await open();
    const [sessions, browsers] = [createSessionStore(database), createKnownBrowserStore(database)];
    const userId = text(8);
    const all = Array.from({ length: 10 }, () => newSession({ userId }));
    for (const session of all) await sessions.open(session, [], undefined);
    const [first, second] = all;
    if (first === undefined || second === undefined) throw new Error('no sessions');
    const { knownBrowserHash } = first;
    await sessions.open(newSession({ userId, knownBrowserHash }), [], undefined);
    await sessions.open(newSession({ userId }), [], undefined);
    expect(await countOf(database, userId)).toBe(10);
    const known = await Promise.all(
      all.map((session) => browsers.isKnown(session.knownBrowserHash, of('acme', userId))),
    );
    expect(known).toEqual([true, false, ...Array.from({ length: 8 }, () => true)]);
  });

  it('are removed in bounded batches, 180 days after the last sign-in', async () => {
    const database = await open();
    const [sessions, browsers] = [createSessionStore(database), createKnownBrowserStore(database)];
    while ((await browsers.purge(1000)) > 0);
    const [old, young] = [text(8), text(8)];
    for (const userId of [old, old, old, young]) await sessions.open(newSession({ userId }), [], undefined);
    await age(database, old, 181);
    await age(database, young, 179);
    expect(await browsers.purge(2)).toBe(2);
    expect(await browsers.purge(2)).toBe(1);
    expect(await browsers.purge(2)).toBe(0);
    expect([await countOf(database, old), await countOf(database, young)]).toEqual([0, 1]);
  });
}

function raceContract(open: () => Promise<Database>): void {
  it('are remembered once each when their sign-ins race, and soon ten again', async () => {
    const database = await open();
    const [sessions, browsers] = [createSessionStore(database), createKnownBrowserStore(database)];
    const userId = text(8);
    const hashes = Array.from({ length: 14 }, () => systemRandom.bytes(32));
    for (let round = 0; round < 5; round += 1) {
      const racing = [...hashes, ...hashes, ...hashes].map((knownBrowserHash) =>
        sessions.open(newSession({ userId, knownBrowserHash }), [], undefined),
      );
      await Promise.all(racing);
    }
    const last = newSession({ userId });
    await sessions.open(last, [], undefined);
    expect(await countOf(database, userId)).toBe(10);
    expect(await browsers.isKnown(last.knownBrowserHash, of('acme', userId))).toBe(true);
  });

  it('do not block one another when tabs of one browser sign in again at once', async () => {
    const database = await open();
    const sessions = createSessionStore(database);
    const userId = text(8);
    const knownBrowserHash = systemRandom.bytes(32);
    for (let round = 0; round < 10; round += 1) {
      const before = newSession({ userId, knownBrowserHash });
      await sessions.open(before, [], undefined);
      const { sessionId, tokenHash } = before;
      const tabs = Array.from({ length: 8 }, () =>
        sessions.open(newSession({ userId, knownBrowserHash, previousTokenHash: tokenHash }), [], {
          sessionId,
          reason: 'replaced',
          requestId: '',
          audit: audit(),
        }),
      );
      await Promise.all(tabs);
    }
    expect(await countOf(database, userId)).toBe(1);
  });
}
