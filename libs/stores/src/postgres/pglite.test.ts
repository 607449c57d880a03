import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { testEmbeddedDatabase } from '@tessera/test-kit';
import { describe, expect, it } from 'vitest';
import { describeDatabase } from '../database.contract.ts';
import { openEmbeddedDatabase } from './pglite.ts';

describeDatabase({
  name: 'PGlite',
  open: () => testEmbeddedDatabase(),
});

describe('openEmbeddedDatabase', () => {
  it('keeps what was committed in its directory, which one process at a time may use', async () => {
    const parent = await mkdtemp(join(tmpdir(), 'tessera-pglite-'));
    const directory = join(parent, 'nested', 'database');
    try {
      const first = await openEmbeddedDatabase(directory);
      await first.query({ name: 'test.create', text: 'CREATE TABLE kept AS SELECT 1 AS one' });
      await expect(openEmbeddedDatabase(directory)).rejects.toThrow(/in use by process \d+\. Stop it/);
      await first.close();

      await writeFile(`${directory}.lock`, '4194305');
      const second = await openEmbeddedDatabase(directory);
      expect(await readFile(`${directory}.lock`, 'utf8')).toBe(String(process.pid));
      expect((await second.query({ name: 'test.kept', text: 'SELECT one FROM kept' })).rows).toEqual([
        { one: 1 },
      ]);
      await second.close();
    } finally {
      await rm(parent, { recursive: true });
    }
  });
});
