import { tenantId, username, type Population } from '../declared-state.ts';
import { copyRows, fill } from '../populate.ts';

/** With what `enlarge` adds: 10,000 tenants, 100,000 applications and 1,000,000 people. */
export const manyTenants: Population = { tenants: 10_000, applications: 9, people: 90, active: 1 };

/** The tenant that has a tenth of all people and applications, so that its lists have a thousand pages. */
export const largeTenant = 7;
const added = { people: 100_000, applications: 10_000 };

/** Adds people and applications to the large tenant: copies of its first ones under other names. */
export async function enlarge(databaseUrl: string): Promise<void> {
  const ofTenant = `tenant_id = '${tenantId(largeTenant)}'`;
  const person = username(largeTenant, 0);
  const clientId = `app-${largeTenant}-0`;
  await fill(databaseUrl, async (database) => {
    const { rows } = await database.query<{ readonly id: string }>(
      `SELECT user_id AS id FROM directory.user_account WHERE ${ofTenant} AND username = $1`,
      [person],
    );
    const userId = rows[0]?.id ?? '';
    for (const table of ['user_account', 'user_identifier', 'user_role'] as const)
      await copyRows(
        database,
        table,
        `${ofTenant} AND user_id = '${userId}'`,
        { [userId]: `${userId}-#`, [person]: `${person}-#` },
        [0, added.people],
      );
    await copyRows(
      database,
      'application',
      `${ofTenant} AND client_id = '${clientId}'`,
      { [clientId]: `${clientId}-#` },
      [0, added.applications],
    );
    await database.query('CALL directory.index_people()');
    await database.query(`UPDATE directory.person_seen SET from_the_first = true WHERE ${ofTenant}`);
  });
}
