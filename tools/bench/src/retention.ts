import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Population } from './declared-state.ts';
import type { OperationName } from './operations/names.ts';
import { round } from './soak.ts';
import type { System } from './systems.ts';

/** What writes rows of the product. */
const writing: readonly OperationName[] = [
  'client-credentials-form',
  'code-exchange',
  'refresh-openid',
  'ciba-start',
  'sign-in',
  'authorize-session',
];

/** Settings of the system: lifetimes that outlast one round and its preparation, and the least retention. */
export const shortLifetimes = {
  TESSERA_REFRESH_TOKEN_IDLE_TTL: '4m',
  TESSERA_REFRESH_TOKEN_ABSOLUTE_TTL: '4m',
  TESSERA_SESSION_TTL: '4m',
  TESSERA_SESSION_IDLE_TTL: '4m',
  TESSERA_AUDIT_RETENTION: '1m',
};

/** Few, so that each round is prepared quickly. */
export const writers: Population = { tenants: 10, applications: 10, people: 100, active: 10 };

/** Of each operation's own rate: ninety operations a second in all, as in the soak. */
const rateShare = 0.15;
const roundSeconds = 60;
/** Much less than the minute between two purges, so that each rise before one is seen. */
const sampleSeconds = 5;
const samplesPerMinute = 60 / sampleSeconds;

/** The time since which the product keeps a row for a day or longer, and the times that must not be later. */
const keptFrom = {
  'authorize.session': ['expires_at'],
  'authorize.known_browser': ['last_used_at'],
  'device.decision': ['expires_at'],
  'token.redemption': ['redeemed_at'],
  'token.refresh_family': ['absolute_expires_at', 'idle_expires_at'],
};

/** Rows of each table, one count per sample. */
export type TableSizes = ReadonlyMap<string, readonly number[]>;

export interface Retention {
  readonly system: string;
  readonly seconds: number;
  readonly operations: number;
  readonly errors: number;
  readonly sizes: TableSizes;
}

/** Writes for `seconds` with a retention of one minute in all tables, which are counted every few seconds. */
export async function retention(
  system: System,
  name: string,
  { seconds, databaseUrl }: { readonly seconds: number; readonly databaseUrl: string },
  say: (text: string) => void,
): Promise<Retention> {
  const over = new AbortController();
  const sampling = sampleTables(databaseUrl, over.signal);
  const start = performance.now();
  const elapsed = (): number => (performance.now() - start) / 1000;
  let operations = 0;
  let errors = 0;
  try {
    while (elapsed() < seconds) {
      for (const result of await round(system, writing, {
        seconds: roundSeconds,
        share: rateShare,
        memory: [],
      })) {
        operations += result.operations;
        errors += result.errors;
      }
      say(`${name}: ${operations} operations, ${errors} errors`);
    }
  } finally {
    over.abort();
  }
  return { system: name, seconds: elapsed(), operations, errors, sizes: await sampling };
}

async function sampleTables(databaseUrl: string, over: AbortSignal): Promise<TableSizes> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    const { rows } = await database.query<{ name: string }>(
      `SELECT schemaname || '.' || tablename AS name FROM pg_tables
        WHERE schemaname IN ('authorize', 'device', 'directory', 'keys', 'token')`,
    );
    const sizes = new Map(rows.map(({ name }): [string, number[]] => [name, []]));
    while (!over.aborted) {
      await sleep(sampleSeconds * 1000, undefined, { signal: over }).catch(() => undefined);
      await ageRows(database);
      for (const [name, counts] of sizes) {
        const counted = await database.query<{ count: number }>(`SELECT count(*)::int FROM ${name}`);
        counts.push(counted.rows[0]?.count ?? 0);
      }
    }
    return sizes;
  } finally {
    await database.end();
  }
}

/** A day or a week of keeping passes in a minute: rows of a minute ago become rows of many days ago. */
async function ageRows(database: pg.Client): Promise<void> {
  for (const [table, times] of Object.entries(keptFrom)) {
    const aged = times.map((time) => `${time} = ${time} - interval '500 days'`);
    await database.query(
      `UPDATE ${table} SET ${aged.join(', ')}
        WHERE ${times[0]} BETWEEN statement_timestamp() - interval '1 day' AND statement_timestamp() - interval '1 minute'`,
    );
  }
}

/** The tables whose largest size in the last third of the samples exceeds that in the middle third by a tenth. */
export function growing(sizes: TableSizes): string[] {
  return [...sizes].flatMap(([table, counts]) => {
    const third = Math.floor(counts.length / 3);
    const middle = Math.max(0, ...counts.slice(third, -third));
    const last = Math.max(0, ...counts.slice(-third));
    return last > middle * 1.1 + 100 ? [table] : [];
  });
}

function mostPerMinute(counts: readonly number[]): number[] {
  const minutes = Math.ceil(counts.length / samplesPerMinute);
  return Array.from({ length: minutes }, (_, minute) =>
    Math.max(...counts.slice(minute * samplesPerMinute, (minute + 1) * samplesPerMinute)),
  );
}

export function describeRetention({ system, seconds, operations, errors, sizes }: Retention): string {
  const grown = new Set(growing(sizes));
  const lines = [...sizes]
    .filter(([, counts]) => counts.some((count) => count !== counts[0]))
    .map(
      ([table, counts]) =>
        `${table.padEnd(26)} ${mostPerMinute(counts).join(' ')}${grown.has(table) ? '  still grows' : ''}`,
    );
  const summary = `${system}: ${operations} operations in ${(seconds / 60).toFixed(1)} min, ${errors} errors; most rows in each minute:`;
  return [summary, ...lines, ''].join('\n');
}
