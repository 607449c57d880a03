import pg from 'pg';
import { tenantId, username, type Population } from '../declared-state.ts';

/** With what `enlarge` adds: 10,000 tenants, 100,000 applications and 1,000,000 people. */
export const manyTenants: Population = { tenants: 10_000, applications: 9, people: 90, active: 1 };

/** The tenant that has a tenth of all people and applications, so that its lists have a thousand pages. */
export const largeTenant = 7;
const added = { people: 100_000, applications: 10_000 };

/** People per statement. */
const batch = 10_000;

/** Adds people and applications to the large tenant: copies of its first ones under other names. */
export async function enlarge(databaseUrl: string): Promise<void> {
  const database = new pg.Client({ connectionString: databaseUrl });
  await database.connect();
  try {
    // The originals meet their foreign keys, so their copies do too.
    await database.query(`SET session_replication_role = replica`);
    await database.query(`SET synchronous_commit = off`);
    const { rows } = await database.query<{ user_id: string }>(
      'SELECT user_id FROM directory.user_account WHERE tenant_id = $1 AND username = $2',
      [tenantId(largeTenant), username(largeTenant, 0)],
    );
    const userId = rows[0]?.user_id ?? '';
    const ofPerson = [userId, username(largeTenant, 0)];
    for (let from = 0; from < added.people; from += batch)
      for (const table of ['user_account', 'user_identifier', 'user_role'])
        await copy(database, table, ['user_id', userId], ofPerson, from);
    const clientId = `app-${largeTenant}-0`;
    await copy(database, 'application', ['client_id', clientId], [clientId], 0);
    // Autovacuum would come between the measurements.
    await database.query('VACUUM (ANALYZE)');
  } finally {
    await database.end();
  }
}

/** Copies the rows in which a column has a value, with a number behind each of the texts. */
async function copy(
  database: pg.Client,
  table: string,
  [column, value]: readonly [string, string],
  texts: readonly string[],
  from: number,
): Promise<void> {
  const replaced = texts.reduce(
    (text, _each, index) => `replace(${text}, $${index + 5}, $${index + 5} || '-' || number)`,
    'to_jsonb(original)::text',
  );
  await database.query(
    `INSERT INTO directory.${table}
     SELECT copied.*
       FROM directory.${table} original, generate_series($1::int, $2::int) AS number,
            jsonb_populate_record(NULL::directory.${table}, (${replaced})::jsonb) AS copied
      WHERE original.tenant_id = $3 AND original.${column} = $4`,
    [from, from + batch - 1, tenantId(largeTenant), value, ...texts],
  );
}
