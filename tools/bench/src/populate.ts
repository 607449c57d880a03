import { createHmac } from 'node:crypto';
import pg from 'pg';
import { clientOf, tenantId, type Population } from './declared-state.ts';

/**
 * The directory's tables with rows of a tenant's declared state. Digests of secrets contain the tenant, so they are no
 * copies.
 */
const copiedTables = [
  'tenant',
  'api_resource',
  'scope',
  'role',
  'user_account',
  'user_identifier',
  'user_role',
  'application',
] as const;
export const tables = [...copiedTables, 'application_secret'];

/** Copies per statement. */
const batch = 500;

/** Digest of a client secret as the directory stores it. */
function digestOf(pepper: Buffer, tenant: string, clientId: string, secret: string): string {
  const text = ['tessera.client_secret.v1', tenant, clientId, secret].join('\0');
  return createHmac('sha256', pepper).update(text).digest('base64url');
}

/**
 * Copies the only tenant of a database with its declared state until there are `population.tenants`. The directory
 * would need an hour for a hundred thousand applications and a million people. The secrets are those of `clientOf`.
 */
export async function populate(
  databaseUrl: string,
  population: Population,
  { seed, pepper }: { readonly seed: string; readonly pepper: Buffer },
): Promise<void> {
  const copied = { 'tenant-0': 'tenant-#', 'app-0': 'app-#', 'person-0': 'person-#', usr_: 'usr_#-' };
  await fill(databaseUrl, async (database) => {
    for (const table of copiedTables)
      await copyRows(database, table, `tenant_id = 'tenant-0'`, copied, [1, population.tenants]);
    await addSecrets(database, population, { seed, pepper });
  });
}

/** Runs what adds many rows, which are copies of others. */
export async function fill(databaseUrl: string, work: (database: pg.Client) => Promise<void>): Promise<void> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    // The originals meet their foreign keys, so their copies do too.
    await database.query(`SET session_replication_role = replica`);
    await database.query(`SET synchronous_commit = off`);
    // A plan for the few rows of the beginning would be kept while they become a million.
    await database.query(`SET plan_cache_mode = force_custom_plan`);
    await work(database);
    // Triggers keep what people are found by, and copies have none. Earlier versions keep nothing.
    const keeps = `SELECT FROM pg_proc WHERE oid = to_regprocedure('directory.index_people()')`;
    const { rowCount } = await database.query(keeps);
    if (rowCount === 1) await database.query('CALL directory.index_people()');
    // Autovacuum would come between the measurements.
    await database.query('VACUUM (ANALYZE)');
  } finally {
    await database.end();
  }
}

/**
 * Copies rows of a table for each number from the first to before the last. Each key of `copied` in their texts becomes
 * its value, in which `#` stands for the number.
 */
export async function copyRows(
  database: pg.Client,
  table: (typeof copiedTables)[number],
  where: string,
  copied: Readonly<Record<string, string>>,
  [first, end]: readonly [number, number],
): Promise<void> {
  const text = Object.entries(copied).reduce(
    (original, [of, by]) => `replace(${original}, '${of}', replace('${by}', '#', number::text))`,
    'to_jsonb(original)::text',
  );
  for (let from = first; from < end; from += batch)
    await database.query(
      `INSERT INTO directory.${table}
       SELECT copied.*
         FROM (SELECT * FROM directory.${table} WHERE ${where}) original, generate_series($1::int, $2::int) AS number,
              jsonb_populate_record(NULL::directory.${table}, (${text})::jsonb) AS copied`,
      [from, Math.min(from + batch, end) - 1],
    );
}

async function addSecrets(
  database: pg.Client,
  { tenants, applications }: Population,
  { seed, pepper }: { readonly seed: string; readonly pepper: Buffer },
): Promise<void> {
  for (let from = 1; from < tenants; from += batch) {
    const added = Array.from({ length: Math.min(batch, tenants - from) * applications }, (_, position) => {
      const tenant = from + Math.floor(position / applications);
      const { clientId, clientSecret } = clientOf(seed, tenant, position % applications);
      const id = tenantId(tenant);
      return { id, clientId, digest: digestOf(pepper, id, clientId, clientSecret) };
    });
    await database.query(
      `INSERT INTO directory.application_secret (tenant_id, client_id, digest)
       SELECT * FROM unnest($1::text[], $2::text[], $3::text[])`,
      [added.map(({ id }) => id), added.map(({ clientId }) => clientId), added.map(({ digest }) => digest)],
    );
  }
}
