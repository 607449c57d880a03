import { newDatabaseUrl } from '@tessera/test-kit';
import { createServiceRoles } from '@tessera/test-kit/provision';
import { beforeAll, describe, expect, it } from 'vitest';
import { rows, tessera } from '../../testing/run-command.ts';
import { schemas } from '../../processes.ts';

const privileges = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** Each right of a service's role on a table of a service: `<service> may <privilege> <schema>.<table>`. */
const granted = `
  SELECT replace(r.rolname, current_database() || '_', '') || ' may ' || privilege || ' ' || c.oid::regclass AS line
    FROM pg_roles r, pg_class c, unnest(ARRAY['${privileges.join("','")}']) privilege
   WHERE starts_with(r.rolname, current_database() || '_') AND NOT r.rolname LIKE '%owner'
     AND c.relnamespace::regnamespace::text = ANY (ARRAY['${schemas.map(({ schema }) => schema).join("','")}'])
     AND c.relkind = 'r' AND has_table_privilege(r.oid, c.oid, privilege)`;

const linesOf = async (url: string) =>
  ((await rows(url, granted)) as { line: string }[]).map(({ line }) => line);

describe.each([
  { when: 'made before the first migration', early: true },
  { when: 'made for schemas that exist', early: false },
])('roles of the services, $when', ({ early }) => {
  let url: string;
  let urlFor: (role: string) => string;

  beforeAll(async () => {
    url = await newDatabaseUrl();
    if (early) urlFor = await createServiceRoles(url);
    const { code, said } = await tessera('migrate', { DATABASE_URL: early ? urlFor('owner') : url });
    if (code !== 0) throw new Error(said);
    urlFor = await createServiceRoles(url);
  });

  it('reach every table of the schema of their service, and none of another', async () => {
    const tables = (await rows(
      url,
      `SELECT schemaname AS schema, tablename AS name FROM pg_tables
        WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
    )) as { schema: string; name: string }[];
    expect(new Set(tables.map(({ schema }) => schema))).toEqual(new Set(schemas.map(({ schema }) => schema)));
    const expected = tables.flatMap(({ schema, name }) =>
      privileges.map((privilege) => `${schema} may ${privilege} ${schema}.${name}`),
    );
    expect((await linesOf(url)).toSorted()).toEqual(expected.toSorted());
  });

  it('are refused by Postgres elsewhere, and the role for compact is not', async () => {
    const people = 'SELECT count(*)::int AS count FROM directory.user_account';
    await expect(rows(urlFor('keys'), people)).rejects.toThrow();
    expect(await rows(urlFor('directory'), people)).toEqual([{ count: 0 }]);
    expect(await rows(urlFor(''), people)).toEqual([{ count: 0 }]);
    await expect(rows(urlFor('directory'), 'CREATE TABLE directory.own (id int)')).rejects.toThrow();
  });

  it('would be found with a right too many (canary)', async () => {
    const keys = `"${new URL(urlFor('keys')).username}"`;
    await rows(url, `GRANT USAGE ON SCHEMA directory TO ${keys}`);
    await rows(url, `GRANT SELECT ON directory.user_account TO ${keys}`);
    expect(await linesOf(url)).toContain('keys may SELECT directory.user_account');
  });
});
