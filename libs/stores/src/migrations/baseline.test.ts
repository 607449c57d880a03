import { createHash } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { newDatabaseUrl, silentLog, testEmbeddedDatabase } from '@tessera/test-kit';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { OpenedDatabase } from '../database.ts';
import { openDatabase } from '../postgres/postgres.ts';
import { migrate, pendingMigrations, type Migrations } from './migrate.ts';

const log = silentLog();

async function files(contents: Readonly<Record<string, string>>): Promise<Migrations> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-baseline-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const [name, sql] of Object.entries(contents)) await writeFile(join(directory, name), sql);
  return { schema: 'sample', directory: pathToFileURL(`${directory}/`) };
}

const first = `CREATE TABLE sample.thing (id text PRIMARY KEY);
`;
const second = `ALTER TABLE sample.thing ADD COLUMN name text;
INSERT INTO sample.thing VALUES ('one', 'a');
`;
const third = `CREATE INDEX thing_name ON sample.thing (name);
`;
const replaced = { '0001_things.sql': first, '0002_names.sql': second };

/** A baseline in place of `first` and `second`, which makes what they make. */
const baseline = (files: Readonly<Record<string, string>> = replaced): string =>
  [
    '-- Baseline of version 1.2.0: what these made.',
    ...Object.entries(files).map(
      ([name, sql]) => `-- ${name} ${createHash('sha256').update(sql).digest('hex')}`,
    ),
    first,
    second,
  ].join('\n');

const read = async (database: OpenedDatabase, text: string) =>
  (await database.query({ name: `test.${text}`.slice(0, 60), text })).rows;

/** One serves all, emptied in between. */
let embedded: OpenedDatabase | undefined;

async function emptyEmbedded(): Promise<OpenedDatabase> {
  embedded ??= await testEmbeddedDatabase();
  await embedded.migration((session) => session.run('DROP SCHEMA IF EXISTS sample CASCADE'));
  return embedded;
}

async function newPostgres(): Promise<OpenedDatabase> {
  const database = await openDatabase({ url: await newDatabaseUrl() });
  onTestFinished(() => database.close());
  return database;
}

describe.each([
  { engine: 'Postgres', open: newPostgres },
  { engine: 'PGlite', open: emptyEmbedded },
])('a baseline on $engine', ({ open }) => {
  it('makes an empty schema by the baseline, on which a process of the release that it stands for starts', async () => {
    const database = await open();
    const now = await files({ '0002_baseline.sql': baseline() });
    await expect(migrate(database, now, log, 'wait')).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    expect(await migrate(database, now, log)).toEqual(['sample/0002_baseline.sql']);
    expect(await migrate(database, now, log)).toEqual([]);
    const before = await files(replaced);
    for (const mode of ['apply', 'wait'] as const)
      expect(await migrate(database, before, log, mode)).toEqual([]);
    expect(await pendingMigrations(database, before)).toEqual([]);
    expect(await pendingMigrations(database, now)).toEqual([]);
    expect(await read(database, 'SELECT id, name FROM sample.thing')).toEqual([{ id: 'one', name: 'a' }]);
  });

  it('goes on after a baseline where all that it stands for was applied', async () => {
    const database = await open();
    await migrate(database, await files(replaced), log);
    const next = { '0002_baseline.sql': baseline(), '0003_index.sql': third };
    expect(await migrate(database, await files(next), log)).toEqual(['sample/0003_index.sql']);
    expect(await migrate(database, await files(next), log, 'wait')).toEqual([]);
  });

  it('refuses a schema that is older than the baseline, and says through which version to go', async () => {
    const database = await open();
    await migrate(database, await files({ '0001_things.sql': first }), log);
    const next = await files({ '0002_baseline.sql': baseline(), '0003_index.sql': third });
    for (const mode of ['apply', 'wait'] as const)
      await expect(migrate(database, next, log, mode)).rejects.toThrow(
        'The schema sample is older than version 1.2.0: it lacks the migration 0002_names.sql. ' +
          'Bring it to version 1.2.0 first: start that version, or run its tessera migrate.',
      );
    expect(await pendingMigrations(database, next)).toContain('sample/0002_baseline.sql');
    expect(await read(database, 'SELECT version FROM sample.schema_migration')).toEqual([{ version: 1 }]);
    await migrate(database, await files(replaced), log);
    expect(await migrate(database, next, log)).toEqual(['sample/0003_index.sql']);
  });

  it('refuses a schema that was made by other texts than the baseline names', async () => {
    const database = await open();
    await migrate(database, await files({ ...replaced, '0001_things.sql': `${first}-- other` }), log);
    const next = await files({ '0002_baseline.sql': baseline() });
    await expect(migrate(database, next, log)).rejects.toThrow(
      'Migration sample/0001_things.sql was changed after it had been applied.',
    );
  });

  it('refuses a baseline that is not the first file, or names another last migration', async () => {
    const database = await open();
    const misplaced = 'The baseline sample/0002_baseline.sql is not the first file';
    const late = await files({ '0001_things.sql': first, '0002_baseline.sql': baseline() });
    await expect(migrate(database, late, log)).rejects.toThrow(misplaced);
    const short = await files({ '0002_baseline.sql': baseline({ '0001_things.sql': first }) });
    await expect(migrate(database, short, log)).rejects.toThrow(misplaced);
  });
});
