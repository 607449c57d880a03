import type { FeedStore, Sequenced } from './change-feed.ts';
import type { Database } from '../database.ts';

/** A feed whose records are kept for a week. */
export interface RetainedFeedStore<T extends Sequenced> extends FeedStore<T> {
  /** The position before the first record since `seconds` (Unix epoch), as far back as records are kept. */
  positionBefore(seconds: number): Promise<number>;
  /** Deletes up to `limit` records older than a week; resolves with how many. */
  purge(limit: number): Promise<number>;
}

export interface FeedTable<Row, T extends Sequenced> {
  readonly schema: string;
  /** Has the columns `sequence` and `recorded_at`; `<table>_horizon` holds the last sequence that was deleted. */
  readonly table: string;
  /** The further columns, as SQL. */
  readonly columns: string;
  /** `recorded_at` is in seconds since the Unix epoch. */
  read(row: Row & Recorded): T;
}

interface Recorded extends Sequenced {
  readonly recorded_at: number;
}

/**
 * Reads and purges a table of changes in Postgres or PGlite. Its rows are written by the statements that make the
 * changes.
 */
export function createFeedStore<Row, T extends Sequenced>(
  database: Database,
  { schema, table, columns, read }: FeedTable<Row, T>,
): RetainedFeedStore<T> {
  const statements = statementsOf(`${schema}.${table}`, columns);
  async function ask<R>(name: keyof typeof statements, values: readonly unknown[] = []): Promise<R[]> {
    const statement = { name: `${schema}.${table}_${name}`, text: statements[name], values };
    return (await database.query<R>(statement)).rows;
  }
  return {
    listen: (heard) => database.listen(`${schema}.${table}`, heard),
    newestChange: async () => (await ask<Sequenced>('newest'))[0]?.sequence ?? 0,
    positionBefore: async (seconds) => (await ask<Sequenced>('before', [seconds]))[0]?.sequence ?? 0,
    canResumeAfter: async (sequence) =>
      (await ask<{ resumable: boolean }>('resume', [sequence]))[0]?.resumable ?? false,
    changesAfter: async (sequence, limit) =>
      (await ask<Row & Recorded>('after', [sequence, limit])).map((row) => read(row)),
    purge: async (limit) => (await ask<{ deleted: number }>('purge', [limit]))[0]?.deleted ?? 0,
  };
}

function statementsOf(table: string, columns: string) {
  const newest = `GREATEST(h.sequence, (SELECT max(sequence) FROM ${table}))`;
  return {
    newest: `SELECT ${newest} AS sequence FROM ${table}_horizon AS h`,
    /** $1 seconds since the Unix epoch; in the year 9999 and later the database has no time for it */
    before: `
      SELECT GREATEST(h.sequence, (
               SELECT sequence FROM ${table} WHERE recorded_at < to_timestamp(LEAST($1::float8, 253370764800))
               ORDER BY recorded_at DESC, sequence DESC LIMIT 1)) AS sequence
      FROM ${table}_horizon AS h`,
    /** $1 any number. A sequence beyond the newest belongs to a database that was restored to an earlier state. */
    resume: `SELECT $1::numeric BETWEEN h.sequence AND ${newest} AS resumable FROM ${table}_horizon AS h`,
    /** $1 sequence, $2 limit */
    after: `
      SELECT sequence, floor(extract(epoch FROM recorded_at))::float8 AS recorded_at, ${columns}
      FROM ${table} WHERE sequence > $1 ORDER BY sequence LIMIT $2`,
    /** $1 limit */
    purge: `
      WITH gone AS (
        DELETE FROM ${table} WHERE sequence IN (
          SELECT sequence FROM ${table} WHERE recorded_at < statement_timestamp() - interval '7 days'
          ORDER BY recorded_at LIMIT $1::int FOR UPDATE SKIP LOCKED)
        RETURNING sequence
      ), horizon AS (
        UPDATE ${table}_horizon SET sequence = GREATEST(sequence, (SELECT max(sequence) FROM gone))
        WHERE EXISTS (SELECT 1 FROM gone)
      )
      SELECT count(*)::int AS deleted FROM gone`,
  };
}
