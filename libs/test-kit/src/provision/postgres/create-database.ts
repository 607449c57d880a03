import { randomBytes } from 'node:crypto';
import { migrate, openDatabase } from '@tessera/stores';
import type { Migrations } from '@tessera/stores';
import type pg from 'pg';
import { silentLog } from '../../fakes/silent-log.ts';
import { digestOf } from '../migrations.ts';
import { databasePrefix, databaseUrl, dropDatabase, withServer } from '../server.ts';
import { requiredUrl } from '../urls.ts';

export interface TestDatabase {
  readonly url: string;
  /** Ends its connections and drops it. */
  drop(): Promise<void>;
}

/** A database of its own on the test server, with the migrations applied; dropping it is up to the caller. */
export async function createDatabase(...migrations: readonly Migrations[]): Promise<TestDatabase> {
  return createWith(async (admin, server) => {
    const template = migrations.length === 0 ? 'template1' : await templateFor(admin, server, migrations);
    return `TEMPLATE ${template}`;
  });
}

/** An empty database in an encoding such as `LATIN1`; dropping it is up to the caller. */
export async function createDatabaseInEncoding(encoding: string): Promise<TestDatabase> {
  return createWith(async () => `ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`);
}

async function createWith(
  options: (admin: pg.Client, server: string) => Promise<string>,
): Promise<TestDatabase> {
  const server = requiredUrl('TESSERA_TEST_DATABASE_URL');
  const name = `${databasePrefix()}${randomBytes(8).toString('hex')}`;
  await withServer(server, async (admin) => {
    await admin.query(`CREATE DATABASE ${name} ${await options(admin, server)}`);
  });
  return {
    url: databaseUrl(server, name),
    drop: () => withServer(server, (admin) => dropDatabase(admin, name)),
  };
}

/** Migrating takes longer than cloning: the first caller migrates a template, the others clone it. */
async function templateFor(
  admin: pg.Client,
  server: string,
  migrations: readonly Migrations[],
): Promise<string> {
  const name = `${databasePrefix()}template_${await digestOf(migrations)}`;
  await admin.query('SELECT pg_advisory_lock(hashtext($1))', [name]);
  try {
    const { rowCount } = await admin.query('SELECT 1 FROM pg_database WHERE datname = $1', [name]);
    if (rowCount === 0) await buildTemplate(admin, server, name, migrations);
    return name;
  } finally {
    await admin.query('SELECT pg_advisory_unlock(hashtext($1))', [name]);
  }
}

async function buildTemplate(
  admin: pg.Client,
  server: string,
  name: string,
  migrations: readonly Migrations[],
) {
  const building = `${name}_building`;
  await dropDatabase(admin, building);
  await admin.query(`CREATE DATABASE ${building}`);
  const database = await openDatabase({ url: databaseUrl(server, building) });
  try {
    for (const each of migrations) await migrate(database, each, silentLog());
  } finally {
    await database.close();
  }
  await admin.query(`ALTER DATABASE ${building} RENAME TO ${name}`);
}
