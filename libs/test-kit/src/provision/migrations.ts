import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import type { Migrations } from '@tessera/stores';

const libs = fileURLToPath(new URL('../../../', import.meta.url));

/** The migrations of every service: each has the schema of its name. */
export const everyMigration = (): readonly Migrations[] =>
  globSync('*/sql', { cwd: libs }).map((path) => ({
    schema: basename(dirname(path)),
    directory: pathToFileURL(`${libs}${path}/`),
  }));

/** Differs as soon as a schema or the text of a migration does. */
export async function digestOf(migrations: readonly Migrations[]): Promise<string> {
  const hash = createHash('sha256');
  for (const { schema, directory } of migrations) {
    hash.update(schema);
    for (const file of (await readdir(directory)).sort())
      hash.update(file).update(await readFile(new URL(file, directory)));
  }
  return hash.digest('hex').slice(0, 16);
}
