import { readFile } from 'node:fs/promises';
import { rolesOf, withServer } from '../server.ts';

const script = new URL('../../../../../deploy/postgres/roles.sql', import.meta.url);
const password = 'test';

/**
 * Runs deploy/postgres/roles.sql in a test database, with the name of the database for `tessera`, so that dropping it
 * drops them.
 * @returns the address of the database for a role: `owner`, a service, or '' for the one with the rights of all
 * services
 */
export async function createServiceRoles(url: string): Promise<(role: string) => string> {
  const database = new URL(url).pathname.slice(1);
  const sql = (await readFile(script, 'utf8')).replaceAll(/\btessera(?=_|\b)/g, database);
  await withServer(url, async (admin) => {
    await admin.query(sql);
    for (const role of await rolesOf(admin, database))
      await admin.query(`ALTER ROLE ${role} PASSWORD '${password}'`);
  });
  return (role) => {
    const address = new URL(url);
    address.username = role === '' ? database : `${database}_${role}`;
    address.password = password;
    return address.href;
  };
}
