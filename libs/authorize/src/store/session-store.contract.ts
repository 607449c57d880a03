import { describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import type { AuditRow } from '@tessera/audit';
import type { Database } from '@tessera/stores';
import { createSessionStore } from './session-store.postgres.ts';
import type {
  EndedSession,
  EndingSession,
  NewSessionRecord,
  Session,
  SessionStore,
} from './session-store.ts';

export const idleSeconds = 3600;

function newSession(difference: Partial<NewSessionRecord> = {}): NewSessionRecord {
  return {
    sessionId: systemRandom.bytes(16).toString('base64url'),
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

function audit(event: string): AuditRow {
  const eventId = systemRandom.bytes(13).toString('hex');
  const written = { event, eventId, tenantId: 'acme', outcome: 'success', note: `it's "quoted"` };
  return { eventId, record: JSON.stringify(written) };
}

export function ending(sessionId: string, reason: EndingSession['reason'] = 'logout'): EndingSession {
  return { sessionId, reason, requestId: 'r1', audit: audit('session.ended') };
}

/** What the store of sessions must do, on every engine. */
export function sessionStoreContract(engine: string, open: () => Promise<Database>): void {
  describe(`sessions on ${engine}`, () => {
    livingContract(open);
    endContract(open);
    earlierContract(open);
    purgeContract(open);
  });
}

export async function opened(
  store: SessionStore,
  difference: Partial<NewSessionRecord> = {},
): Promise<{ record: NewSessionRecord; session: Session; over: EndedSession | undefined }> {
  const record = newSession(difference);
  return { record, ...(await store.open(record, [audit('session.created')], undefined)) };
}

/** Moves a session into the past: the times are the database's, so no clock of a test can. */
export async function age(database: Database, sessionId: string, seconds: number): Promise<void> {
  await database.query({
    name: 'test.age_session',
    text: `UPDATE authorize.session SET auth_time = auth_time - make_interval(secs => $2),
      created_at = created_at - make_interval(secs => $2), last_seen_at = last_seen_at - make_interval(secs => $2),
      expires_at = expires_at - make_interval(secs => $2) WHERE session_id = $1`,
    values: [sessionId, seconds],
  });
}

async function lastSeenAge(database: Database, sessionId: string): Promise<number | undefined> {
  const { rows } = await database.query<{ age: number }>({
    name: 'test.last_seen',
    text: `SELECT extract(epoch FROM clock_timestamp() - last_seen_at)::float8 AS age
      FROM authorize.session WHERE session_id = $1`,
    values: [sessionId],
  });
  return rows[0]?.age;
}

async function audited(database: Database, row: AuditRow): Promise<number> {
  const { rowCount } = await database.query({
    name: 'test.audited',
    text: 'SELECT event_id FROM authorize.audit_event WHERE event_id = $1 AND record = $2::jsonb',
    values: [row.eventId, row.record],
  });
  return rowCount;
}

function livingContract(open: () => Promise<Database>): void {
  it('finds a session by the hash of its token, with the times of the database', async () => {
    const store = createSessionStore(await open());
    const { record, session } = await opened(store);
    const { sessionId, tenantId, userId, tokenHash } = record;
    expect(session).toMatchObject({ sessionId, tenantId, userId });
    expect(Number.isInteger(session.authentication.time)).toBe(true);
    expect(session.authAge).toBeGreaterThanOrEqual(0);
    const found = await store.find(tokenHash, idleSeconds);
    expect(found).toMatchObject({ sessionId, tenantId, userId, authentication: session.authentication });
    expect(await store.find(systemRandom.bytes(32), idleSeconds)).toBeUndefined();
  });

  it('does not find a session beyond its absolute end, however busy it was', async () => {
    const database = await open();
    const store = createSessionStore(database);
    const { record } = await opened(store, { lifetimeSeconds: 100 });
    await age(database, record.sessionId, 99);
    expect(await store.find(record.tokenHash, idleSeconds)).toMatchObject({ sessionId: record.sessionId });
    await age(database, record.sessionId, 1.5);
    expect(await store.find(record.tokenHash, idleSeconds)).toBeUndefined();
  });

  it('does not find a session that was idle for too long', async () => {
    const database = await open();
    const store = createSessionStore(database);
    const { record } = await opened(store);
    await age(database, record.sessionId, idleSeconds + 1);
    expect(await store.find(record.tokenHash, idleSeconds)).toBeUndefined();
    expect(await store.identify(record.tokenHash)).toMatchObject({ sessionId: record.sessionId });
    const { tenantId, sessionId } = record;
    expect(await store.identify({ tenantId, sessionId })).toMatchObject({ tenantId, sessionId });
    expect(await store.identify({ tenantId: 'another', sessionId })).toBeUndefined();
  });

  it('records use at most once a minute', async () => {
    const database = await open();
    const store = createSessionStore(database);
    const { record } = await opened(store);
    await age(database, record.sessionId, 50);
    const found = await store.find(record.tokenHash, idleSeconds);
    expect(found?.authAge).toBeGreaterThanOrEqual(50);
    expect(await lastSeenAge(database, record.sessionId)).toBeGreaterThanOrEqual(50);
    await age(database, record.sessionId, 15);
    await Promise.all(Array.from({ length: 10 }, () => store.find(record.tokenHash, idleSeconds)));
    expect(await lastSeenAge(database, record.sessionId)).toBeLessThan(15);
  });

  it('writes the audit rows in the same commit, or neither', async () => {
    const database = await open();
    const store = createSessionStore(database);
    const rows = [audit('auth.login.succeeded'), audit('session.created')];
    const record = newSession();
    await store.open(record, rows, undefined);
    expect(await Promise.all(rows.map((row) => audited(database, row)))).toEqual([1, 1]);
    const doomed = newSession();
    await expect(store.open(doomed, rows, undefined)).rejects.toThrow(/duplicate|unique/i);
    expect(await store.find(doomed.tokenHash, idleSeconds)).toBeUndefined();
  });
}

function endContract(open: () => Promise<Database>): void {
  it('ends a session for good, once, with one audit row', async () => {
    const database = await open();
    const store = createSessionStore(database);
    const { record } = await opened(store);
    const ends = Array.from({ length: 20 }, () => ending(record.sessionId));
    const results = await Promise.all(ends.map((one) => store.end(one)));
    expect(results.filter(Boolean)).toHaveLength(1);
    const rows = await Promise.all(ends.map((one) => audited(database, one.audit)));
    expect(rows).toEqual(results.map(Number));
    expect(await store.find(record.tokenHash, idleSeconds)).toBeUndefined();
    expect(await store.identify(record.tokenHash)).toMatchObject({ sessionId: record.sessionId });
  });

  it('does not find a session once its end was confirmed, whatever races', async () => {
    const database = await open();
    const store = createSessionStore(database);
    for (let round = 0; round < 20; round += 1) {
      const { record } = await opened(store);
      await age(database, record.sessionId, 70);
      const reading = Array.from({ length: 8 }, () => store.find(record.tokenHash, idleSeconds));
      await store.end(ending(record.sessionId));
      expect(await store.find(record.tokenHash, idleSeconds)).toBeUndefined();
      await Promise.all(reading);
      expect(await store.find(record.tokenHash, idleSeconds)).toBeUndefined();
    }
  });

  it('ends the session that a new one replaces in the same commit, and audits it if it lived', async () => {
    const database = await open();
    const store = createSessionStore(database);
    const { record: old } = await opened(store);
    const replaced = ending(old.sessionId, 'replaced');
    const next = newSession();
    await store.open(next, [audit('session.created')], replaced);
    expect(await store.find(old.tokenHash, idleSeconds)).toBeUndefined();
    expect(await store.find(next.tokenHash, idleSeconds)).toMatchObject({ sessionId: next.sessionId });
    expect(await audited(database, replaced.audit)).toBe(1);
    const again = ending(old.sessionId, 'replaced');
    await store.open(newSession(), [audit('session.created')], again);
    expect(await audited(database, again.audit)).toBe(0);
  });
}

/** The browser of one person who signs in again and again: the sessions, the earliest first. */
async function signInAgain(store: SessionStore, times: number): Promise<NewSessionRecord[]> {
  const line: NewSessionRecord[] = [];
  for (let time = 0; time < times; time += 1) {
    const { sessionId: last, tokenHash: previousTokenHash } = line.at(-1) ?? {};
    const record = newSession({ previousTokenHash });
    await store.open(
      record,
      [audit('session.created')],
      last === undefined ? undefined : ending(last, 'replaced'),
    );
    line.push(record);
  }
  return line;
}

/** Their identifiers, the latest first. */
const latestFirst = (line: readonly NewSessionRecord[]) =>
  line.map(({ sessionId }) => sessionId).toReversed();

function earlierContract(open: () => Promise<Database>): void {
  it('knows the sessions before an ended one, also after its end, and those before one of another person (SES-7)', async () => {
    const store = createSessionStore(await open());
    const [first, second, third] = await signInAgain(store, 3);
    if (first === undefined || second === undefined || third === undefined) throw new Error('not signed in');
    const earlier = [second.sessionId, first.sessionId];
    const { sessionId, tenantId, tokenHash } = third;
    const over = { sessionId, tenantId, userId: 'u1', earlierSessionIds: earlier };
    expect(await store.identify(tokenHash)).toMatchObject(over);
    await store.end(ending(sessionId));
    expect(await store.identify(tokenHash)).toMatchObject(over);
    expect((await store.identify(first.tokenHash))?.earlierSessionIds).toEqual([]);

    const foreign = newSession({ userId: 'u2', previousTokenHash: tokenHash });
    const before = { tenantId, sessionId, earlierSessionIds: earlier };
    expect((await store.open(foreign, [], ending(sessionId, 'replaced'))).over).toEqual(before);
    expect((await store.identify(foreign.tokenHash))?.earlierSessionIds).toEqual([]);
    expect((await opened(store)).over).toBeUndefined();
  });

  it('knows an ended one that the browser presents again, as after a lost response (SES-7)', async () => {
    const database = await open();
    const store = createSessionStore(database);
    const { record: first } = await opened(store);
    const lost = { previousTokenHash: first.tokenHash };
    await store.open(newSession(lost), [], ending(first.sessionId, 'replaced'));
    const again = newSession(lost);
    await store.open(again, [], undefined);
    expect((await store.identify(again.tokenHash))?.earlierSessionIds).toEqual([first.sessionId]);
    const before = { tenantId: 'acme', sessionId: first.sessionId, earlierSessionIds: [] };
    expect((await opened(store, { ...lost, userId: 'u2' })).over).toEqual(before);
    expect((await opened(store, { ...lost, tenantId: 'umbra' })).over).toEqual(before);
    const { record: expired } = await opened(store, { lifetimeSeconds: 10 });
    await age(database, expired.sessionId, 600);
    const { record: next } = await opened(store, { previousTokenHash: expired.tokenHash });
    expect((await store.identify(next.tokenHash))?.earlierSessionIds).toEqual([expired.sessionId]);
    await age(database, expired.sessionId, 301);
    expect((await store.identify(next.tokenHash))?.earlierSessionIds).toEqual([]);
    await ageEnd(database, first.sessionId, 901);
    expect((await opened(store, { ...lost, userId: 'u2' })).over).toBeUndefined();
    const { record: late } = await opened(store, lost);
    expect((await store.identify(late.tokenHash))?.earlierSessionIds).toEqual([]);
  });

  it('knows ten of them, and none that was replaced longer ago than any code lives', async () => {
    const database = await open();
    const store = createSessionStore(database);
    const line = await signInAgain(store, 12);
    const last = line.at(-1);
    if (last === undefined) throw new Error('not signed in');
    const known = async () => (await store.identify(last.tokenHash))?.earlierSessionIds;
    expect(await known()).toEqual(latestFirst(line).slice(1, 11));
    for (const { sessionId } of line.slice(0, 9)) await ageEnd(database, sessionId, 901);
    expect(await known()).toEqual(latestFirst(line).slice(1, 3));
    for (const { sessionId } of line.slice(9, 11)) await ageEnd(database, sessionId, 660);
    expect(await known()).toEqual(latestFirst(line).slice(1, 3));
  });
}

async function ageEnd(database: Database, sessionId: string, seconds: number): Promise<void> {
  await database.query({
    name: 'test.age_session_end',
    text: 'UPDATE authorize.session SET ended_at = ended_at - make_interval(secs => $2) WHERE session_id = $1',
    values: [sessionId, seconds],
  });
}

function purgeContract(open: () => Promise<Database>): void {
  it('removes only what ended more than a day ago, in bounded batches', async () => {
    const database = await open();
    const store = createSessionStore(database);
    while ((await store.purge(1000)) > 0);
    const old = await Promise.all(Array.from({ length: 5 }, () => opened(store, { lifetimeSeconds: 10 })));
    for (const { record } of old) await age(database, record.sessionId, 86_400 + 11);
    const { record: recent } = await opened(store, { lifetimeSeconds: 10 });
    await age(database, recent.sessionId, 86_000);
    expect(await store.purge(2)).toBe(2);
    expect(await store.purge(100)).toBe(3);
    expect(await store.purge(100)).toBe(0);
    expect(await store.identify(recent.tokenHash)).toMatchObject({ sessionId: recent.sessionId });
  });
}
