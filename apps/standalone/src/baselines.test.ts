import { readdir, readFile } from 'node:fs/promises';
import { migrate, type Database } from '@tessera/stores';
import { silentLog, testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { allMigrations } from './compose.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(...allMigrations);
});

const query = async (name: string, text: string) => database.query({ name: `test.${name}`, text });

describe.each(allMigrations)('the baseline of the schema $schema', (migrations) => {
  const { schema, directory } = migrations;

  it('is what version 0.2.0 has on record, which is left as it is', async () => {
    const [name = ''] = (await readdir(directory)).toSorted();
    const text = await readFile(new URL(name, directory), 'utf8');
    const listed = Array.from(text.matchAll(/^-- (\d{4}_\w+\.sql) ([0-9a-f]{64})$/gm), (line) => ({
      version: Number(line[1]?.slice(0, 4)),
      name: line[1],
      checksum: line[2],
    }));
    expect(text).toMatch(/^-- Baseline of version 0\.2\.0\b/);
    const { rows } = await query(
      `rows_of_${schema}`,
      `SELECT version, name, checksum FROM ${schema}.schema_migration
        WHERE version <= ${Number(name.slice(0, 4))} ORDER BY version`,
    );
    expect(rows).toEqual(listed);
    expect(await migrate(database, migrations, silentLog())).toEqual([]);
  });

  it('refuses a database that an earlier version left', async () => {
    const first = `(SELECT min(version) FROM ${schema}.schema_migration)`;
    await query(`forget_${schema}`, `DELETE FROM ${schema}.schema_migration WHERE version = ${first}`);
    for (const mode of ['apply', 'wait'] as const)
      await expect(migrate(database, migrations, silentLog(), mode)).rejects.toThrow(
        `The schema ${schema} is older than version 0.2.0`,
      );
  });
});
