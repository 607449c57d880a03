import { inCall } from '@tessera/kit';
import { newDatabaseUrl, openTcpProxy } from '@tessera/test-kit';
import { afterAll, afterEach, describe, expect, it } from 'vitest';
import type { TcpProxy } from '@tessera/test-kit';
import { describeDatabase } from '../database.contract.ts';
import type { OpenedDatabase } from '../database.ts';
import { openDatabase } from './postgres.ts';
import type { PostgresOptions } from './postgres.ts';

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

async function open(options: Partial<PostgresOptions> = {}): Promise<OpenedDatabase> {
  const database = await openDatabase({ url: await newDatabaseUrl(), ...options });
  closing.push(() => database.close());
  return database;
}

describeDatabase({ name: 'Postgres', open });

/** The machine may be busy; what is waited for comes as soon as it can. */
const patience = { timeout: 120_000 };
const one = { name: 'test.one', text: 'SELECT 1 AS one' };
const unavailable = { name: 'OAuthError', code: 'temporarily_unavailable', retryAfterSeconds: 1 };
const sleep = (seconds: number) => ({ name: 'test.sleep', text: 'SELECT pg_sleep($1)', values: [seconds] });

async function elapsed(work: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work;
  return performance.now() - started;
}

describe('openDatabase', () => {
  it('ends a statement at its time-out and goes on with the same pool', async () => {
    const database = await open({ maxConnections: 1, statementTimeoutMs: 500 });
    await expect(database.query(sleep(5))).rejects.toMatchObject({
      ...unavailable,
      cause: { code: '57014' },
    });
    await expect(database.transaction((tx) => tx.query(sleep(5)))).rejects.toMatchObject(unavailable);
    expect((await database.query(one)).rows).toEqual([{ one: 1 }]);
  });

  it('ends what a call wants to write when its time is over, and writes nothing later', async () => {
    const database = await open({ maxConnections: 3 });
    await database.migration((session) => session.run('CREATE TABLE late (id int PRIMARY KEY)'));
    const insert = { name: 'test.late', text: 'INSERT INTO late VALUES (1)' };
    const free = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holder = database.transaction(async (tx) => {
      await tx.query({ name: 'test.lock', text: 'LOCK TABLE late IN EXCLUSIVE MODE' });
      locked.resolve();
      await free.promise;
    });
    await locked.promise;
    const deadline = performance.now() + 500;
    const time = { left: () => deadline - performance.now() };
    await Promise.all([
      expect(inCall(time, async () => database.query(insert))).rejects.toMatchObject(unavailable),
      expect(inCall(time, async () => database.transaction((tx) => tx.query(insert)))).rejects.toMatchObject(
        unavailable,
      ),
    ]);
    free.resolve();
    await holder;
    expect((await database.query({ name: 'test.late_rows', text: 'SELECT id FROM late' })).rows).toEqual([]);
  });

  it('says that the outcome is unknown if the connection ends during the commit for a call', async () => {
    const database = await open({ maxConnections: 2, statementTimeoutMs: 500 });
    await database.migration((session) =>
      session.run(`CREATE TABLE slow (id int);
        CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(5); RETURN NEW; END $$;
        CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON slow DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait()`),
    );
    const insert = { name: 'test.slow', text: 'INSERT INTO slow VALUES (1)' };
    const write = async () => database.transaction((tx) => tx.query(insert));
    const kill = {
      name: 'test.kill',
      text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'COMMIT' AND state = 'active'`,
    };
    const writing = expect(inCall({ left: () => Infinity }, write)).rejects.toMatchObject({
      ...unavailable,
      message: expect.stringContaining('It is not known') as string,
    });
    await expect.poll(async () => (await database.query(kill)).rowCount, patience).toBe(1);
    await writing;
  });

  it('refuses callers after the acquire time-out when every connection is taken', async () => {
    const url = await newDatabaseUrl();
    const database = await open({
      url,
      maxConnections: 2,
      acquireTimeoutMs: 300,
      statementTimeoutMs: 60_000,
    });
    const holder = await open({ url });
    const ask = async () => database.query(one);
    // A busy machine connects later than that.
    await expect.poll(() => Promise.all([ask(), ask()]).catch(() => undefined), patience).toBeTruthy();
    const wait = { name: 'test.wait', text: 'SELECT pg_advisory_xact_lock_shared(1)' };
    const busy = await holder.transaction(async (tx) => {
      await tx.query({ name: 'test.hold', text: 'SELECT pg_advisory_xact_lock(1)' });
      const taken = [database.query(wait), database.query(wait)];
      await expect(ask()).rejects.toMatchObject(unavailable);
      return taken;
    });
    await Promise.all(busy);
    expect((await ask()).rowCount).toBe(1);
  });

  it('refuses at once when too many callers wait already', async () => {
    const database = await open({ maxConnections: 1, acquireTimeoutMs: 10_000 });
    const busy = database.query(sleep(0.5));
    const outcomes = await Promise.allSettled(Array.from({ length: 150 }, () => database.query(one)));
    expect(outcomes.filter((outcome) => outcome.status === 'rejected').length).toBeGreaterThanOrEqual(49);
    expect(outcomes.filter((outcome) => outcome.status === 'fulfilled').length).toBeGreaterThanOrEqual(100);
    await busy;
  });

  it('survives the end of its sessions by an administrator, idle or at work', async () => {
    const database = await open({ applicationName: 'to-be-ended', maxConnections: 2 });
    const admin = await open();
    const endAll = {
      name: 'test.end',
      text: `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'to-be-ended'`,
    };
    await database.query(one);
    await admin.query(endAll);
    await expect.poll(() => database.query(one).catch(() => undefined), patience).toBeTruthy();
    const working = database.transaction((tx) => tx.query(sleep(4))).catch((error: unknown) => error);
    const isWorking = async () => (await admin.query({ name: 'test.active', text: active })).rowCount;
    await expect.poll(isWorking, patience).toBe(1);
    await admin.query(endAll);
    expect(await working).toMatchObject({ ...unavailable, cause: { code: '57P01' } });
    expect((await database.query(one)).rowCount).toBe(1);
  });

  it('keeps a connection over an ordinary error, and prepares a statement once per connection', async () => {
    const database = await open({ maxConnections: 1 });
    const backend = { name: 'test.backend', text: 'SELECT pg_backend_pid() AS id' };
    const before = await database.query<{ id: number }>(backend);
    await expect(database.query({ name: 'test.wrong', text: 'SELECT 1 / 0' })).rejects.toMatchObject({
      code: '22012',
    });
    await expect(
      database.transaction((tx) => tx.query({ name: 'test.wrong', text: 'SELECT 1 / 0' })),
    ).rejects.toMatchObject({ code: '22012' });
    expect((await database.query<{ id: number }>(backend)).rows).toEqual(before.rows);
    const prepared = {
      name: 'test.prepared',
      text: `SELECT name FROM pg_prepared_statements WHERE name = 'test.backend'`,
    };
    expect((await database.query(prepared)).rowCount).toBe(1);
  });

  it('keeps a connection over a statement that cannot be sent', async () => {
    const database = await open({ maxConnections: 1 });
    const backend = { name: 'test.backend', text: 'SELECT pg_backend_pid() AS id' };
    const { rows } = await database.query(backend);
    const circular: unknown[] = [];
    circular.push({ circular });
    await expect(
      database.query({ name: 'test.value', text: 'SELECT $1::text', values: [circular] }),
    ).rejects.toThrow(/circular/);
    await expect(database.query({ ...one, name: 'test.backend' })).rejects.toThrow(/must be unique/);
    expect((await database.query(backend)).rows).toEqual(rows);
  });

  it('prepares a statement again if a migration changed its result', async () => {
    const database = await open({ maxConnections: 1 });
    const alter = (sql: string) => database.migration((session) => session.run(sql));
    await alter('CREATE TABLE changing (a int); INSERT INTO changing VALUES (1)');
    const read = { name: 'test.changing', text: 'SELECT a FROM changing' };
    await database.query(read);
    await alter('ALTER TABLE changing ALTER COLUMN a TYPE text');
    expect((await database.query(read)).rows).toEqual([{ a: '1' }]);
    await alter('ALTER TABLE changing ALTER COLUMN a TYPE int USING a::int');
    expect((await database.transaction((tx) => tx.query(read))).rows).toEqual([{ a: 1 }]);
  });

  it('is temporarily unavailable on a server that only reads', async () => {
    const database = await open({ maxConnections: 1 });
    await database.migration((session) => session.run('CREATE TABLE t (a int)'));
    const readOnly = { name: 'test.read-only', text: 'SET default_transaction_read_only = on' };
    await database.query(readOnly);
    const write = { name: 'test.write', text: 'INSERT INTO t VALUES (1)' };
    await expect(database.query(write)).rejects.toMatchObject({ ...unavailable, cause: { code: '25006' } });
    expect((await database.query(write)).rowCount).toBe(1);
  });

  it('does not put its password into errors', async () => {
    const url = new URL(await newDatabaseUrl());
    url.password = 'not-the-password';
    const database = await open({ url: url.href });
    const failure: unknown = await database.query(one).catch((error: unknown) => error);
    expect(failure).toMatchObject(unavailable);
    expect(String(failure) + String((failure as Error).cause)).not.toContain('not-the-password');
  });
});

const active = `SELECT pid FROM pg_stat_activity
                WHERE application_name = 'to-be-ended' AND state = 'active' AND query LIKE '%pg_sleep%'`;

describe('a Postgres that becomes unavailable', () => {
  let proxy: TcpProxy;
  afterEach(() => proxy.close());

  async function openThrough(options: Partial<PostgresOptions> = {}): Promise<OpenedDatabase> {
    proxy = await openTcpProxy(await newDatabaseUrl());
    return open({ url: proxy.url, acquireTimeoutMs: 1500, statementTimeoutMs: 1000, ...options });
  }

  it('can be unavailable when the pool is opened, and is used once it is there', async () => {
    const database = await openThrough();
    await proxy.cut();
    await expect(database.query(one)).rejects.toMatchObject(unavailable);
    await proxy.mend();
    expect((await database.query(one)).rowCount).toBe(1);
  });

  it('makes every call fail with 503 while it is unavailable, and works by itself when it is back', async () => {
    const database = await openThrough({ maxConnections: 4 });
    await Promise.all([database.query(one), database.query(one), database.query(one)]);
    const held = database.transaction(async (tx) => {
      await proxy.cut();
      return tx.query(one);
    });
    await expect(held).rejects.toMatchObject(unavailable);
    const outcomes = await Promise.allSettled(Array.from({ length: 20 }, () => database.query(one)));
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: unavailable });
    await proxy.mend();
    const again = await Promise.all(Array.from({ length: 20 }, () => database.query(one)));
    expect(again).toHaveLength(20);
  });

  it('that hangs makes calls fail within the time-outs, also those that wait for a connection', async () => {
    const database = await openThrough({ maxConnections: 2 });
    await Promise.all([database.query(one), database.query(one)]);
    proxy.freeze();
    const waited = await elapsed(
      Promise.all(
        Array.from({ length: 10 }, () => expect(database.query(one)).rejects.toMatchObject(unavailable)),
      ),
    );
    expect(waited).toBeLessThan(8000);
    await expect(database.transaction((tx) => tx.query(one))).rejects.toMatchObject(unavailable);
    await proxy.cut();
    await proxy.mend();
    expect((await database.query(one)).rowCount).toBe(1);
  });
});
