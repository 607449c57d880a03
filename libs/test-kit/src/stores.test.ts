import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Migrations } from '@tessera/stores';
import { beforeAll, expect, test } from 'vitest';
import { atEndOfFile } from './cleanup.ts';
import { newDatabaseUrl, testDatabase, testRedis } from './stores.ts';

let migrations: Migrations;

beforeAll(async () => {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-migrations-'));
  atEndOfFile(() => rm(directory, { recursive: true }));
  await writeFile(join(directory, '0001_note.sql'), 'CREATE TABLE canary.note (text text NOT NULL);\n');
  migrations = { schema: 'canary', directory: pathToFileURL(`${directory}/`) };
});

test('each test database is a migrated one of its own', async () => {
  const [first, second] = await Promise.all([testDatabase(migrations), testDatabase(migrations)]);
  await first.query({
    name: 'canary.add',
    text: 'INSERT INTO canary.note (text) VALUES ($1)',
    values: ['a'],
  });
  const count = { name: 'canary.count', text: 'SELECT count(*)::int AS notes FROM canary.note' };
  expect((await first.query(count)).rows).toEqual([{ notes: 1 }]);
  expect((await second.query(count)).rows).toEqual([{ notes: 0 }]);
});

test('a database for processes under test is empty and its own', async () => {
  const urls = await Promise.all([newDatabaseUrl(), newDatabaseUrl()]);
  expect(new Set(urls).size).toBe(2);
});

test('two Redis handles do not see each other', async () => {
  const [first, second] = await Promise.all([testRedis(), testRedis()]);
  await first.call('SET', 'key', 'value');
  expect(await first.call('GET', 'key')).toBe('value');
  expect(await second.call('GET', 'key')).toBeNull();
});
