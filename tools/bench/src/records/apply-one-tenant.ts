import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { declaredState, tenantId } from '../declared-state.ts';
import type { AdminCalls } from './admin-calls.ts';
import { manyTenants } from './large-directory.ts';

/** Tables with rows of every tenant. */
const tables = [
  'tenant',
  'api_resource',
  'scope',
  'role',
  'user_account',
  'user_identifier',
  'user_role',
  'application',
  'application_secret',
] as const;

/** A tenant of the usual size. */
const applied = 4321;
/** How many other tenants have each of their rows locked meanwhile; of all others their own row is. */
const lockedTenants = 200;

/** Sessions report what they did at most this long after they became idle. */
const reportedWithinMs = 11_000;

interface Work {
  /** Times that a table was read from one end to the other. */
  readonly whole: number;
  readonly read: number;
  readonly changed: number;
}

/** What was done to the directory's tables since the process of the database started. */
export async function workOf(database: pg.Client): Promise<ReadonlyMap<string, Work>> {
  await sleep(reportedWithinMs);
  const { rows } = await database.query<Work & { readonly name: string }>(
    `SELECT relname AS name, seq_scan::float8 AS whole, (seq_tup_read + coalesce(idx_tup_fetch, 0))::float8 AS read,
            (n_tup_ins + n_tup_upd + n_tup_del)::float8 AS changed
       FROM pg_stat_user_tables WHERE schemaname = 'directory' AND relname = ANY($1)`,
    [tables],
  );
  return new Map(rows.map(({ name, ...work }) => [name, work]));
}

/** The tables that were read from one end to the other in between, and the sums of rows. */
export function workBetween(before: ReadonlyMap<string, Work>, after: ReadonlyMap<string, Work>) {
  const all = [...after].map(([name, { whole, read, changed }]) => {
    const earlier = before.get(name) ?? { whole: 0, read: 0, changed: 0 };
    return {
      name,
      whole: whole - earlier.whole,
      read: read - earlier.read,
      changed: changed - earlier.changed,
    };
  });
  return {
    whole: all.filter(({ whole }) => whole > 0).map(({ name, whole }) => `${name} (${whole} times)`),
    read: all.reduce((sum, { read }) => sum + read, 0),
    changed: all.reduce((sum, { changed }) => sum + changed, 0),
  };
}

/** What an apply of one tenant did in a database where the rows of many others are locked. */
export interface AppliedTenant {
  readonly ms: number;
  /** Rows of the tenant. */
  readonly own: number;
  /** Rows that were read and changed, of whatever tenant. */
  readonly read: number;
  readonly changed: number;
  readonly whole: readonly string[];
}

/** Changes an application of a tenant by its declared state. Throws if that waits for other tenants, or changes anything else. */
export async function applyOneTenant(
  admin: AdminCalls,
  { databaseUrl, seed }: { readonly databaseUrl: string; readonly seed: string },
): Promise<AppliedTenant> {
  const document = declaredState(seed, manyTenants, applied).replace('"Application 3"', '"Changed"');
  const [watcher, others] = [
    new pg.Client({ connectionString: databaseUrl }),
    new pg.Client({ connectionString: databaseUrl }),
  ];
  await Promise.all([watcher.connect(), others.connect()]);
  try {
    await lockOthers(others);
    const before = await workOf(watcher);
    const started = performance.now();
    const answer = await admin.call('directory.v1.DirectoryAdminService/Apply', {
      document,
      fileName: 'state.yaml',
    });
    const ms = performance.now() - started;
    const expected = { tenants: [{ tenantId: tenantId(applied), updated: 1 }] };
    if (JSON.stringify(answer) !== JSON.stringify(expected))
      throw new Error(`Apply: ${JSON.stringify(answer)}`);
    const work = workBetween(before, await workOf(watcher));
    return { ms, own: await rowsOf(watcher, tenantId(applied)), ...work };
  } finally {
    await Promise.all([watcher.end(), others.end()]);
  }
}

/** In a transaction that the end of the session ends. */
async function lockOthers(database: pg.Client): Promise<void> {
  await database.query('BEGIN');
  await database.query('SELECT FROM directory.tenant WHERE tenant_id <> $1 FOR UPDATE', [tenantId(applied)]);
  const locked = Array.from({ length: lockedTenants }, (_, index) => tenantId(applied + 1 + index));
  for (const table of tables)
    await database.query(`SELECT FROM directory.${table} WHERE tenant_id = ANY($1) FOR UPDATE`, [locked]);
}

async function rowsOf(database: pg.Client, tenant: string): Promise<number> {
  const counts = tables.map((table) => `(SELECT count(*) FROM directory.${table} WHERE tenant_id = $1)`);
  const { rows } = await database.query<{ readonly rows: number }>(
    `SELECT (${counts.join(' + ')})::int AS rows`,
    [tenant],
  );
  return rows[0]?.rows ?? 0;
}
