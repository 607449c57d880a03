import { createHmac } from 'node:crypto';
import pg from 'pg';
import { clientOf, tenantId, type Population } from './declared-state.ts';

/** The directory's tables of a tenant and its declared state. */
const tables = [
  'tenant',
  'api_resource',
  'scope',
  'role',
  'user_account',
  'user_identifier',
  'user_role',
  'application',
] as const;

/** Tenants per statement. */
const batch = 500;

/** Digest of a client secret as the directory stores it. */
function digestOf(pepper: Buffer, tenant: string, clientId: string, secret: string): string {
  const text = ['tessera.client_secret.v1', tenant, clientId, secret].join('\0');
  return createHmac('sha256', pepper).update(text).digest('base64url');
}

/**
 * Copies the only tenant of a database with its declared state until there are `population.tenants`. The directory would
 * need an hour for a hundred thousand applications and a million people. The secrets are those of `clientOf`.
 */
export async function populate(
  databaseUrl: string,
  population: Population,
  { seed, pepper }: { readonly seed: string; readonly pepper: Buffer },
): Promise<void> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    // The original meets its foreign keys, so its copies do too.
    await database.query(`SET session_replication_role = replica`);
    await database.query(`SET synchronous_commit = off`);
    for (const table of tables) {
      for (let from = 1; from < population.tenants; from += batch) {
        const to = Math.min(from + batch, population.tenants) - 1;
        await database.query(copyOf(table), [from, to]);
      }
    }
    await addSecrets(database, population, { seed, pepper });
    await database.query('ANALYZE');
  } finally {
    await database.end();
  }
}

/** The rows of tenant 0 with another number in each name and id. */
const copyOf = (table: string): string => `
  INSERT INTO directory.${table}
  SELECT copied.*
    FROM directory.${table} original, generate_series($1::int, $2::int) AS number,
         jsonb_populate_record(NULL::directory.${table},
           replace(replace(replace(replace(to_jsonb(original)::text, 'tenant-0', 'tenant-' || number),
             'app-0', 'app-' || number), 'person-0', 'person-' || number), 'usr_', 'usr_' || number || '-')::jsonb
         ) AS copied
   WHERE original.tenant_id = 'tenant-0'`;

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
