import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { tables } from '../populate.ts';

/** What was read of the directory's tables. */
export interface TableReads {
  readonly rows: number;
  /** The tables that were read from one end to the other. */
  readonly whole: readonly string[];
}

/** Sessions report what they did at most this long after they became idle. */
const reportedWithinMs = 11_000;

/** What is read while `work` runs, and nothing else does. */
export async function readsDuring<T>(
  database: pg.Client,
  work: () => Promise<T>,
): Promise<readonly [T, TableReads]> {
  await sleep(reportedWithinMs);
  await database.query('SELECT pg_stat_reset()');
  const result = await work();
  await sleep(reportedWithinMs);
  const { rows } = await database.query<{ name: string; whole: number; read: number }>(
    `SELECT relname AS name, seq_scan::float8 AS whole, (seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS read
       FROM pg_stat_user_tables WHERE schemaname = 'directory' AND relname = ANY($1)`,
    [tables],
  );
  const whole = rows
    .filter((table) => table.whole > 0)
    .map((table) => `${table.name} (${table.whole} times)`);
  return [result, { rows: rows.reduce((sum, { read }) => sum + read, 0), whole }];
}
