import { cp, mkdir, rename, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openEmbeddedDatabase } from '@tessera/stores';
import { databasePrefix, withServer } from './server.ts';
import { requiredUrl } from './urls.ts';

/** An empty embedded database, made once in a run of the tests. */
const template = (): string => join(tmpdir(), `${databasePrefix()}embedded`);

/**
 * Makes `directory` an empty embedded database by copying one: creating it anew takes 3 s of processor time. What is
 * about a first start of all must start without.
 */
export async function copyEmbeddedDatabase(directory: string): Promise<void> {
  await provideTemplate();
  await mkdir(directory, { recursive: true, mode: 0o700 });
  await cp(template(), directory, { recursive: true });
}

/** Removes what `copyEmbeddedDatabase` copies. */
export const dropEmbeddedTemplate = (): Promise<void> => rm(template(), { recursive: true, force: true });

/** The first caller of all processes creates it, the others wait. */
async function provideTemplate(): Promise<void> {
  if (await exists(template())) return;
  await withServer(requiredUrl('TESSERA_TEST_DATABASE_URL'), async (admin) => {
    await admin.query('SELECT pg_advisory_lock(hashtext($1))', [template()]);
    if (await exists(template())) return;
    const building = `${template()}_building`;
    const database = await openEmbeddedDatabase(building);
    await database.close();
    await rename(building, template());
  });
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
