import { globSync } from 'node:fs';
import { cp, mkdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate, openEmbeddedDatabase, type Migrations } from '@tessera/stores';
import { silentLog } from '../fakes/silent-log.ts';
import { digestOf, everyMigration } from './migrations.ts';
import { databasePrefix, withServer } from './server.ts';
import { requiredUrl } from './urls.ts';

/** Of the embedded databases that are made once in a run of the tests. */
const prefix = (): string => `${databasePrefix()}embedded_`;

/**
 * Makes `directory` an embedded database without records by copying one: creating it anew takes 3 s of processor time,
 * and migrating it as much. What is about a first start of all must start without.
 */
export async function copyEmbeddedDatabase(
  directory: string,
  migrations: readonly Migrations[] = everyMigration(),
): Promise<void> {
  const template = join(tmpdir(), `${prefix()}${await digestOf(migrations)}`);
  await provideTemplate(template, migrations);
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await cp(template, directory, { recursive: true });
}

/** Removes what `copyEmbeddedDatabase` copies. */
export async function dropEmbeddedTemplates(): Promise<void> {
  for (const name of globSync(`${prefix()}*`, { cwd: tmpdir() }))
    await rm(join(tmpdir(), name), { recursive: true, force: true });
}

/** The first caller of all processes creates it, the others wait. */
async function provideTemplate(template: string, migrations: readonly Migrations[]): Promise<void> {
  if (await exists(template)) return;
  await withServer(requiredUrl('TESSERA_TEST_DATABASE_URL'), async (admin) => {
    await admin.query('SELECT pg_advisory_lock(hashtext($1))', [template]);
    if (await exists(template)) return;
    const building = `${template}_building`;
    const database = await openEmbeddedDatabase(building);
    for (const each of migrations) await migrate(database, each, silentLog());
    await database.close();
    await rename(building, template);
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
