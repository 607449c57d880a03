import { Secret } from '@tessera/kit';
import { chmod, mkdtemp, readdir, readFile, rename, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { announceAdministration, findAdministration } from './local-administration.ts';

describe('the file that tells the command line where a process with embedded stores is', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tessera-local-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  const announce = (target: string) =>
    announceAdministration(directory, { target, token: new Secret('t0'), issuer: 'http://localhost:8090' });
  const path = () => join(directory, 'administration.json');

  it('is for its user alone, and is gone when the process ends', async () => {
    expect(await findAdministration(directory)).toBeUndefined();
    const withdraw = await announce('127.0.0.1:1');
    expect((await stat(path())).mode & 0o777).toBe(0o600);
    const found = await findAdministration(directory);
    expect([found?.target, found?.token.reveal(), found?.issuer]).toEqual([
      '127.0.0.1:1',
      't0',
      'http://localhost:8090',
    ]);
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
      await writeFile(path(), content, { mode: 0o600 });
      const refused = findAdministration(directory);
      await expect(refused).rejects.toThrow('is not what a running process writes. Remove it');
      await expect(refused).rejects.not.toThrow('t0');
      expect(await readFile(path(), 'utf8')).toBe(content);
    },
  );

  it.each([0o644, 0o640, 0o604, 0o660, 0o700])(
    'is refused with mode %o, and told how to mend it',
    async (mode) => {
      const withdraw = await announce('127.0.0.1:1');
      await chmod(path(), mode);
      await expect(findAdministration(directory)).rejects.toThrow(
        /not for its user alone.*Remove it and start/,
      );
      await withdraw();
    },
  );

  it.each([
    'api.evil.example:80',
    '127.0.0.1.evil.example:80',
    '127.0.0.1:80@evil.example:80',
    '10.0.0.1:80',
    '0.0.0.0:80',
    '127.0.0.1',
    '127.0.0.1:80/path',
    'localhost:1',
  ])('is refused if it names %s, which is not this machine', async (target) => {
    const withdraw = await announce(target);
    await expect(findAdministration(directory)).rejects.toThrow('does not name an address of this machine');
    await withdraw();
  });

  it.each(['127.0.0.1:1', '[::1]:1'])('may name %s', async (target) => {
    const withdraw = await announce(target);
    expect((await findAdministration(directory))?.target).toBe(target);
    await withdraw();
  });

  it('is refused as a link, and as a file of another user', async () => {
    const withdraw = await announce('127.0.0.1:1');
    const other = join(directory, 'other.json');
    await rename(path(), other);
    await symlink(other, path());
    await expect(findAdministration(directory)).rejects.toThrow('is a link. Remove it');
    await rename(other, path());
    const owner = vi.spyOn(process, 'getuid').mockReturnValue(4_321);
    await expect(findAdministration(directory)).rejects.toThrow('belongs to another user. Run the command');
    owner.mockRestore();
    await withdraw();
  });
});
