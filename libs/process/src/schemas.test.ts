import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { migrate, openDatabase, type Migrations } from '@tessera/stores';
import { systemClock } from '@tessera/kit';
import { createLogger } from '@tessera/telemetry';
import { newDatabaseUrl, waitFor } from '@tessera/test-kit';
import { expect, it, onTestFinished } from 'vitest';
import { createLifecycle } from './lifecycle.ts';
import { maintainSchemas } from './schemas.ts';

const statement = { name: 'test.things', text: 'SELECT id FROM sample.thing' };

/** A running process whose schema is up to date. */
async function running(mode: 'apply' | 'wait') {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-schema-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, '0001_things.sql'), 'CREATE TABLE sample.thing (id text PRIMARY KEY);');
  const migrations: Migrations = { schema: 'sample', directory: pathToFileURL(`${directory}/`) };
  const written: string[] = [];
  const log = createLogger(
    { service: 'test', level: 'info' },
    { write: (line: string) => void written.push(line) },
  );
  const database = await openDatabase({ url: await newDatabaseUrl() });
  onTestFinished(() => database.close());
  await migrate(database, migrations, log);
  const lifecycle = createLifecycle({ log, pauseMs: 0, drainTimeoutMs: 500 });
  const settings = { TESSERA_MIGRATIONS: mode, TESSERA_AUDIT_RETENTION: 0 };
  await maintainSchemas([migrations], settings, { database, clock: systemClock, log }, lifecycle);
  lifecycle.started();
  const lose = () => database.migration((session) => session.run('DROP SCHEMA sample CASCADE'));
  const isReady = async (ready: boolean, schema: string) =>
    waitFor(async () => expect(await lifecycle.readiness()).toMatchObject({ ready, checks: { schema } }));
  return { database, migrations, log, lose, isReady, text: () => written.join('') };
}

it('is not ready while the schema lacks a migration, and ready again once it was applied', async () => {
  const { database, migrations, log, lose, isReady, text } = await running('wait');
  await isReady(true, 'ok');
  await lose();
  await isReady(false, 'schema_behind');
  expect(text()).toContain('Migration sample/0001_things.sql is not applied. Run tessera migrate');
  await expect(database.query(statement)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  await migrate(database, migrations, log);
  await isReady(true, 'ok');
  expect((await database.query(statement)).rows).toEqual([]);
});

it('applies the missing migrations itself where processes migrate', async () => {
  const { database, lose, isReady } = await running('apply');
  await isReady(true, 'ok');
  await lose();
  await isReady(false, 'schema_behind');
  await isReady(true, 'ok');
  expect((await database.query(statement)).rows).toEqual([]);
});
