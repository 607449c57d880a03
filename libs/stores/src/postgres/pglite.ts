import { mkdir } from 'node:fs/promises';
import type { PGlite, Transaction } from '@electric-sql/pglite';
import { isInCall } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import { requireTime } from '../statement-time.ts';
import type { MigrationSession, OpenedDatabase, Result, Statement } from '../database.ts';
import { channel, Listeners } from '../feed/announcements.ts';
import { lockDirectory } from './directory-lock.ts';
import { withRetries } from '../retry.ts';
import { createTransactionScope } from './transaction-scope.ts';
import { parsers } from './postgres-types.ts';

/** Callers that may wait for the one session; more are refused at once. */
const maxWaiting = 1000;

/**
 * Opens Postgres inside this process, on a directory that it creates and keeps to itself.
 * One session: everything runs one after the other.
 * @throws Error when another living process has the directory open.
 */
export async function openEmbeddedDatabase(directory: string): Promise<OpenedDatabase> {
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const unlock = await lockDirectory(directory);
  // Loaded here, so that a process on Postgres does not carry it.
  const { PGlite } = await import('@electric-sql/pglite');
  const engine = new PGlite({ parsers, dataDir: directory });
  const listeners = new Listeners();
  try {
    await engine.waitReady;
    await engine.listen(channel, (record) => listeners.announce(record));
  } catch (error) {
    await unlock();
    throw error;
  }
  const scope = createTransactionScope();
  let waiting = 0;

  async function queued<T>(work: () => Promise<T>): Promise<T> {
    if (engine.closed) throw temporarilyUnavailable(new Error('The embedded database is closed.'));
    if (waiting >= maxWaiting)
      throw temporarilyUnavailable(new Error('Too many callers wait for the embedded database.'));
    waiting += 1;
    try {
      return await withRetries(work);
    } finally {
      waiting -= 1;
    }
  }

  async function close(): Promise<void> {
    try {
      await engine.close();
    } finally {
      await unlock();
    }
  }

  let closed: Promise<void> | undefined;
  return {
    engine: 'pglite',
    async query(statement) {
      scope.assertOutside();
      const { beforeSending } = statement;
      if (beforeSending === undefined && !isInCall()) return queued(() => run(engine, statement));
      // The engine lets a lone statement wait where nothing can stop it.
      return queued(() =>
        engine.transaction((tx) => {
          beforeSending?.();
          requireTime();
          return run(tx, statement);
        }),
      );
    },
    async transaction(work) {
      scope.assertOutside();
      return queued(() => inTransaction(engine, (session) => scope.enter(() => work(session))));
    },
    listen(record, heard) {
      const end = listeners.add(record, heard);
      return { hears: true, renew: () => undefined, close: end };
    },
    migration: (work) => queued(() => inTransaction(engine, work)),
    outsideTransaction: (work) =>
      queued(() =>
        work({
          query: (statement) => run(engine, statement),
          // One process has the engine, so that nobody else has to wait.
          run: async (sql) => void (await engine.exec(sql.replaceAll(' CONCURRENTLY', ''))),
        }),
      ),
    close: () => (closed ??= close()),
  };
}

async function inTransaction<T>(engine: PGlite, work: (session: MigrationSession) => Promise<T>): Promise<T> {
  return engine.transaction(async (tx) => {
    requireTime();
    const result = await work({
      query: (statement) => run(tx, statement),
      run: async (sql) => void (await tx.exec(sql)),
    });
    // Fails where an ignored error left the transaction aborted; its COMMIT would roll back in silence.
    await tx.query('SELECT 1');
    requireTime();
    return result;
  });
}

async function run<Row>(target: PGlite | Transaction, statement: Statement): Promise<Result<Row>> {
  const result = await target.query<Row>(statement.text, [...(statement.values ?? [])]);
  return {
    rows: result.rows,
    rowCount: result.rows.length > 0 ? result.rows.length : (result.affectedRows ?? 0),
  };
}
