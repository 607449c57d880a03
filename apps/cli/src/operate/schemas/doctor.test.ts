import { buildKeys, keysConfig, migrations as keysMigrations } from '@tessera/keys';
import { migrations as directoryMigrations } from '@tessera/directory';
import { openDatabase } from '@tessera/stores';
import { newDatabaseUrl, newDatabaseUrlInEncoding, testRuntime } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { directly, file, pepper, secrets, tessera } from '../../testing/run-command.ts';
import { settings } from '../../settings.ts';
import { examine } from './doctor.ts';

const wrongKek = { TESSERA_KEYS_KEK: Buffer.alloc(32, 2).toString('base64') };

/** What `tessera doctor` prints about a process. */
async function examined(
  process: string,
  environment: Readonly<Record<string, string>>,
  now = () => Date.now(),
): Promise<string> {
  let said = '';
  const say = (text: string) => void (said += text);
  const io = { out: say, say, input: async () => '', fetch, sleep: async () => undefined };
  await expect(examine(process, { environment, now, ...io })).rejects.toThrow('checks failed.');
  return said;
}

it('reports a wrong clock and its fix (F14)', async () => {
  const environment = { DATABASE_URL: await newDatabaseUrl() };
  expect(await examined('standalone', environment, () => Date.now() - 60_400)).toContain(
    "BAD   clock of the database: The clock of this machine is 60 s behind the database's. " +
      'Synchronise the clocks of both with NTP.\n',
  );
});

it('reports a database that is not in UTF8, as tessera migrate, apply and epoch bump refuse it', async () => {
  const environment = { DATABASE_URL: await newDatabaseUrlInEncoding('SQL_ASCII') };
  const database = new URL(environment.DATABASE_URL).pathname.slice(1);
  const problem = `The database ${database} has the encoding SQL_ASCII, and Tessera needs UTF8. `;
  const said = await examined('standalone', environment);
  expect(said).toContain(`good  database\nBAD   encoding of the database: ${problem}`);
  expect(said).not.toContain('schema');
  for (const [command, what] of [
    ['migrate', 'Migrating keys'],
    ['apply -f unread.yaml --direct', 'Waiting for the schema'],
    ['epoch bump', 'Waiting for the schema'],
  ] as const) {
    const { code, said: refused } = await tessera(command, { ...environment, ...secrets });
    expect([code, refused.split('\n').length]).toEqual([1, 2]);
    expect(refused).toContain(`${what} cannot be done. ${problem}`);
  }
});

it.each(['keys', 'standalone'])(
  'reports a key-encryption key that cannot decrypt the stored signing keys, and stores none (%s)',
  async (process) => {
    const url = await newDatabaseUrl(keysMigrations);
    const environment = { DATABASE_URL: url, ...wrongKek };
    expect(await examined(process, environment)).toContain('good  TESSERA_KEYS_KEK\n');
    await generateKeys(url);
    expect(await examined(process, environment)).toContain(
      'BAD   TESSERA_KEYS_KEK: The signing key was wrapped under another key-encryption key than TESSERA_KEYS_KEK.\n',
    );
  },
);

const state = `tenants:
  - id: acme
    name: Acme
    applications:
      - { clientId: robot, name: Robot, type: confidential, grantTypes: [client_credentials], secrets: [{ value: ${'s'.repeat(32)} }] }
`;

it.each(['directory', 'standalone'])(
  'reports a pepper that is not that of the stored client secrets, and records none (%s)',
  async (process) => {
    const url = await newDatabaseUrl(directoryMigrations);
    const environment = {
      DATABASE_URL: url,
      TESSERA_DIRECTORY_PEPPER: Buffer.alloc(32, 9).toString('base64'),
    };
    expect(await examined(process, environment)).toContain('good  TESSERA_DIRECTORY_PEPPER\n');
    const applied = { DATABASE_URL: url, TESSERA_DIRECTORY_PEPPER: pepper };
    expect((await directly(`apply -f ${file(state)}`, applied)).code).toBe(0);
    expect(await examined(process, environment)).toContain(
      'BAD   TESSERA_DIRECTORY_PEPPER: TESSERA_DIRECTORY_PEPPER is not the pepper of the client secrets in this database: ' +
        'no client could authenticate. Start with the former one; to replace it, see "Rotate" in docs/operations.md\n',
    );
    expect(await directly(`apply -f ${file(state)}`, environment)).toEqual({
      code: 1,
      said: expect.stringMatching(
        /Applying .*cannot be done\. TESSERA_DIRECTORY_PEPPER is not the pepper [^]*docs\/operations\.md\.\n$/,
      ) as string,
    });
  },
);

/** As the first process of the keys service does. */
async function generateKeys(url: string): Promise<void> {
  const database = await openDatabase({ url });
  const config = settings(keysConfig, { TESSERA_KEYS_KEK: Buffer.alloc(32, 1).toString('base64') });
  const keys = buildKeys(config, {}, testRuntime({ database }));
  await keys.ready();
  await keys.close();
  await database.close();
}
