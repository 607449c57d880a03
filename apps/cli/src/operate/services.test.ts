import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { buildKeys, keysConfig, migrations as keysMigrations } from '@tessera/keys';
import { loadConfig, local, openDatabase, rootCall, type BuiltService } from '@tessera/kit';
import { KeysService } from '@tessera/proto-gen/keys';
import { newDatabaseUrl, silentLog, testKit } from '@tessera/test-kit';
import { file, rows, secrets, serving, tessera } from '../testing/command.ts';

const { TESSERA_KEYS_KEK } = secrets;
const nobody = 'Embedded stores are open to their process alone.';

/** A running process of `keys` on a database, which follows it closely. */
async function keysProcess(url: string): Promise<BuiltService> {
  const database = await openDatabase({ url });
  const config = loadConfig(keysConfig, { TESSERA_KEYS_KEK, TESSERA_KEYS_POLL_INTERVAL: '50ms' });
  const built = buildKeys(config, {}, testKit({ database, log: silentLog() }));
  onTestFinished(async () => {
    await built.close();
    await database.close();
  });
  await built.ready();
  return built;
}

/** The keys that a process tells verifiers of, newest first. */
async function publishedBy(built: BuiltService): Promise<string[]> {
  const { keys } = await local(KeysService, built, 'gateway').getPublicKeys({}, rootCall('test'));
  return keys.map(({ kid }) => kid);
}

const kidOf = (line: string) => line.split(' ')[0] ?? '';
const lines = (said: string) => said.trimEnd().split('\n');

describe('tessera keys', () => {
  it('lists and rotates in the database, where processes that run notice', async () => {
    const DATABASE_URL = await newDatabaseUrl(keysMigrations);
    const process = await keysProcess(DATABASE_URL);
    const environment = { DATABASE_URL, TESSERA_KEYS_KEK };
    const [first = ''] = await publishedBy(process);
    expect(await tessera('keys list', environment)).toEqual({ code: 0, said: `${first}  active\n` });

    const next = await tessera('keys rotate', environment);
    expect(next).toEqual({
      code: 0,
      said: expect.stringMatching(
        new RegExp(`^${first} goes on signing\\. The next key is published;`),
      ) as string,
    });
    const [published = ''] = lines((await tessera('keys list', environment)).said);
    expect(published).toMatch(/ {2}published$/);
    // Again, it has nothing to publish.
    expect(await tessera('keys rotate', environment)).toEqual(next);

    const now = await tessera('keys rotate --now', environment);
    expect(now.code).toBe(0);
    expect(now.said).toMatch(new RegExp(`^${kidOf(published)} signs from now on`));
    expect(now.said).toContain('is trusted until TESSERA_KEYS_RETENTION');
    expect(lines((await tessera('keys list', environment)).said)).toEqual([
      `${kidOf(published)}  active`,
      `${first}  retired`,
    ]);
    const followed = [kidOf(published), first];
    await vi.waitFor(async () => expect(await publishedBy(process)).toEqual(followed), 5_000);
    const events = `SELECT DISTINCT record -> 'actor' ->> 'type' AS actor FROM keys.audit_event WHERE event = 'key.retired'`;
    expect(await rows(DATABASE_URL, events)).toEqual([{ actor: 'operator' }]);
  });

  it('calls the process that is named, in a file too, which needs neither database nor key', async () => {
    const built = await keysProcess(await newDatabaseUrl(keysMigrations));
    const { TESSERA_PEER_KEYS = '', ...token } = await serving(built, 'TESSERA_PEER_KEYS');
    const environment = { ...token, TESSERA_PEER_KEYS_FILE: file(`${TESSERA_PEER_KEYS}\n`, 'keys') };
    const { code, said } = await tessera('keys rotate --now', environment);
    expect([code, said]).toEqual([0, expect.stringContaining(' signs from now on')]);
    expect(lines((await tessera('keys list', environment)).said).map((line) => line.split(/ +/)[1])).toEqual([
      'active',
      'retired',
    ]);
  });

  it('makes no key that processes cannot read: not under another key-encryption key, and not the first', async () => {
    const DATABASE_URL = await newDatabaseUrl(keysMigrations);
    const rotate = (environment: Record<string, string>) =>
      tessera('keys rotate --now', { DATABASE_URL, TESSERA_KEYS_KEK, ...environment });
    expect(await rotate({})).toEqual({
      code: 1,
      said: 'Rotating the keys cannot be done. There is no signing key yet: the first process of keys that starts makes it.\n',
    });
    await keysProcess(DATABASE_URL);
    const another = Buffer.alloc(32, 9).toString('base64');
    expect(await rotate({ TESSERA_KEYS_KEK: another })).toEqual({
      code: 1,
      said: 'Rotating the keys cannot be done. The signing key was wrapped under another key-encryption key than TESSERA_KEYS_KEK.\n',
    });
    expect(await rows(DATABASE_URL, 'SELECT state FROM keys.signing_key')).toEqual([{ state: 'active' }]);
  });

  it('says what it needs', async () => {
    const { code, said } = await tessera('keys list', { TESSERA_KEYS_KEK });
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(new RegExp(`^DATABASE_URL is required\\. .*${nobody}`)),
    ]);
    const DATABASE_URL = await newDatabaseUrl(keysMigrations);
    expect((await tessera('keys list', { DATABASE_URL })).said).toContain('TESSERA_KEYS_KEK is missing.');
  });
});
