import { Secret } from '@tessera/kit';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { announceAdministration, findAdministration } from './local-administration.ts';

describe('the file that tells the command line where a process with embedded stores is', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tessera-local-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const announce = (target: string) => announceAdministration(directory, { target, token: new Secret('t0') });
  const path = () => join(directory, 'administration.json');

  it('is for its user alone, and is gone when the process ends', async () => {
    expect(await findAdministration(directory)).toBeUndefined();
    const withdraw = await announce('127.0.0.1:1');
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    const found = await findAdministration(directory);
    expect([found?.target, found?.token.reveal()]).toEqual(['127.0.0.1:1', 't0']);
    await withdraw();
    expect(await readdir(directory)).toEqual([]);
  });

  it('stays if a later process has replaced it', async () => {
    const withdraw = await announce('127.0.0.1:1');
    const later = await announce('127.0.0.1:2');
    await withdraw();
    expect((await findAdministration(directory))?.target).toBe('127.0.0.1:2');
    await later();
  });

  it.each(['', '{}', '{"target": 1, "token": "t0"}', '{"target": "a:1", "token": "t0", "more": true}'])(
    'is refused with %j in it, which is not repeated',
    async (content) => {
      await writeFile(path(), content);
      const refused = findAdministration(directory);
      await expect(refused).rejects.toThrow('is not what a running process writes. Remove it');
      await expect(refused).rejects.not.toThrow('t0');
      expect(await readFile(path(), 'utf8')).toBe(content);
    },
  );
});
