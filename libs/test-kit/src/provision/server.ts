import pg from 'pg';

/** Prefix of the databases of one test run, so that runs can share a server. */
export const databasePrefix = (): string => `tessera_test_${process.env['TESSERA_TEST_RUN'] ?? 'local'}_`;

/** Drops what one run of the tests left on a server that outlives it. */
export async function dropTestDatabases(server: string, prefix: string): Promise<void> {
  await withServer(server, async (admin) => {
    const { rows } = await admin.query<{ datname: string }>(
      'SELECT datname FROM pg_database WHERE starts_with(datname, $1)',
      [prefix],
    );
    for (const { datname } of rows) await dropDatabase(admin, datname);
  });
}

/** Drops a database, and the roles that were made for it. */
export async function dropDatabase(admin: pg.Client, name: string): Promise<void> {
  await admin.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  for (const role of await rolesOf(admin, name)) await admin.query(`DROP ROLE ${role}`);
}

/** The roles of a database: those whose names begin with its name. */
export async function rolesOf(admin: pg.Client, database: string): Promise<string[]> {
  const { rows } = await admin.query<{ rolname: string }>(
    'SELECT rolname FROM pg_roles WHERE starts_with(rolname, $1)',
    [database],
  );
  return rows.map(({ rolname }) => rolname);
}

/** One connection to the server's own database. */
export async function withServer<T>(server: string, work: (admin: pg.Client) => Promise<T>): Promise<T> {
  const admin = new pg.Client({ connectionString: server });
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.end();
  }
}

export function databaseUrl(server: string, name: string): string {
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}
