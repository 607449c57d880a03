import pg from 'pg';
import { declaredState, tenantId } from '../declared-state.ts';
import { tables } from '../populate.ts';
import { manyTenants } from './large-directory.ts';
import { readsDuring, type TableReads } from './table-reads.ts';

/** A tenant of the usual size. */
const applied = 4321;
/** How many other tenants have each of their rows locked meanwhile; of all others their own row is. */
const lockedTenants = 200;

/** What an apply of one tenant took in a database where the rows of many others are locked. */
export interface AppliedTenant {
  readonly ms: number;
  /** Rows of the tenant. */
  readonly own: number;
  readonly reads: TableReads;
}

/**
 * Changes an application of a tenant by its declared state. Throws if that waits for other tenants, or changes anything
 * else.
 */
export async function applyOneTenant(
  call: (method: string, request: object) => Promise<unknown>,
  database: pg.Client,
  { databaseUrl, seed }: { readonly databaseUrl: string; readonly seed: string },
): Promise<AppliedTenant> {
  const document = declaredState(seed, manyTenants, applied).replace('"Application 3"', '"Changed"');
  const others = new pg.Client({ connectionString: databaseUrl });
  await others.connect();
  try {
    await lockOthers(others);
    const [ms, reads] = await readsDuring(database, async () => {
      const started = performance.now();
      const request = { tenantId: tenantId(applied), document };
      const answer = JSON.stringify(await call('admin.v1.DeclaredStateService/Apply', request));
      const expected = JSON.stringify({ updated: 1 });
      if (answer !== expected) throw new Error(`Apply: ${answer}`);
      return performance.now() - started;
    });
    return { ms, own: await rowsOf(database, tenantId(applied)), reads };
  } finally {
    await others.end();
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
  const sum = `SELECT (${counts.join(' + ')})::int AS rows`;
  return (await database.query<{ readonly rows: number }>(sum, [tenant])).rows[0]?.rows ?? 0;
}
