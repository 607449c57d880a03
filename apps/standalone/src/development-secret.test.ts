import { mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { developmentSecret } from './development-secret.ts';

describe('developmentSecret', () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'tessera-secrets-'));
  });
  afterAll(() => rm(directory, { recursive: true }));

  it('makes one secret for all who ask at once and keeps it', async () => {
    const secrets = await Promise.all(
      Array.from({ length: 20 }, () => developmentSecret(directory, 'keys-kek')),
    );
    const values = new Set(secrets.map((secret) => secret.reveal()));
    expect(values.size).toBe(1);
    expect([...values][0]).toMatch(/^[\w-]{43}$/);
    expect((await developmentSecret(directory, 'keys-kek')).reveal()).toBe([...values][0]);
    expect((await developmentSecret(directory, 'other', 16)).reveal()).toMatch(/^[\w-]{22}$/);
    expect(await readdir(join(directory, 'secrets'))).toEqual(['keys-kek', 'other']);
  });

  it('is readable by its owner only', async () => {
    await developmentSecret(directory, 'private');
    expect((await stat(join(directory, 'secrets', 'private'))).mode & 0o777).toBe(0o600);
    expect((await stat(join(directory, 'secrets'))).mode & 0o777).toBe(0o700);
  });

  it('refuses an empty file and a name that is a path', async () => {
    await writeFile(join(directory, 'secrets', 'empty'), '\n');
    await expect(developmentSecret(directory, 'empty')).rejects.toThrow(/is empty\. Remove it/);
    await expect(developmentSecret(directory, '../up')).rejects.toThrow(/no name for a secret/);
  });
});
