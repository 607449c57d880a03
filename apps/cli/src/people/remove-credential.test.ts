import { migrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { loadConfig } from '@tessera/process';
import type { Database } from '@tessera/stores';
import { silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { beforeEach, describe, expect, it } from 'vitest';
import { file, pepper, serving, tessera } from '../testing/run-command.ts';

const state = `tenants:
  - id: acme
    name: Acme
    providers: [{ name: corp, issuer: 'https://corp.example', clientId: tessera, clientSecret: a-secret-of-the-provider-alone }]
    users: [{ username: ada, password: a password of ada }, { username: eve }]
`;

let database: Database;
let environment: Record<string, string>;

/** Eve has two passkeys called Phone and one called Laptop, an app, and the provider. */
beforeEach(async () => {
  const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper });
  database = await testDatabase(migrations);
  const directory = buildDirectory(config, {}, testRuntime({ database, log: silentLog() }));
  environment = await serving(directory, 'directory');
  const { code, said } = await run(`apply -f ${file(state)}`);
  if (code !== 0) throw new Error(said);
  for (const [id, name] of [
    ['a-laptop', 'Laptop'],
    ['a-phone', 'Phone'],
    ['b-phone', 'Phone'],
  ] as const)
    await giveEve(
      'passkey',
      `(tenant_id, user_id, credential_id, name, user_handle, rp_id, public_key, sign_count, transports, synced, backed_up)
       SELECT tenant_id, user_id, $1, $2, '', 'id.example', '', 0, '{}', false, false`,
      [id, name],
    );
  await giveEve('totp', `(tenant_id, user_id, sealed, last_step) SELECT tenant_id, user_id, 'x', 0`);
  await giveEve(
    'provider_identity',
    `(tenant_id, user_id, provider, issuer, subject)
     SELECT tenant_id, user_id, 'corp', 'https://corp.example', 's-1'`,
  );
});

const run = async (words: string) => tessera(words, environment);

async function giveEve(table: string, row: string, values: readonly string[] = []): Promise<void> {
  const text = `INSERT INTO directory.${table} ${row} FROM directory.user_account WHERE username = 'eve'`;
  await database.query({ name: `test.give_${table}`, text, values });
}

const remove = async (options: string) => run(`user remove-credential ${options} --tenant acme`);

/** Of the passkeys of Eve. */
async function ids(): Promise<readonly string[]> {
  const text = 'SELECT credential_id FROM directory.passkey ORDER BY credential_id';
  const { rows } = await database.query<{ credential_id: string }>({ name: 'test.ids', text, values: [] });
  return rows.map(({ credential_id: id }) => id);
}

describe('tessera user remove-credential', () => {
  it('says what it would remove and end, and changes nothing', async () => {
    const would = await remove('eve --passkey Laptop --validate-only');
    expect(would.code).toBe(0);
    expect(would.said).toMatch(/^acme: ends what was issued to 1 person: eve$/m);
    expect(would.said).toMatch(/^This removes the passkey Laptop of eve and ends all sign-ins\.$/m);
    expect(await remove('eve --passkey a-laptop --validate-only')).toEqual(would);
    expect(await ids()).toEqual(['a-laptop', 'a-phone', 'b-phone']);
  });

  it('removes one thing after another, and says what is left', async () => {
    const ended = 'All sign-ins have ended.\n';
    const still = 'They can still sign in with';
    const said = [];
    for (const what of [
      '--passkey Laptop',
      '--passkey b-phone',
      '--app',
      '--passkey Phone',
      '--provider corp',
    ])
      said.push(await remove(`eve ${what}`));
    expect(said.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
    expect(said.map(({ said: each }) => each)).toEqual([
      `Removed of eve: the passkey Laptop. ${ended}${still} the passkeys and a linked provider.\n`,
      `Removed of eve: the passkey Phone. ${ended}${still} the passkeys and a linked provider.\n`,
      `Removed of eve: the authenticator app. ${ended}${still} the passkeys and a linked provider.\n`,
      `Removed of eve: the passkey Phone. ${ended}${still} a linked provider.\n`,
      `Removed of eve: the link with the provider corp. ${ended}` +
        'Nothing else lets them in. To let them back in, make a link: tessera user reset-link.\n',
    ]);
  });

  it('asks which of two passkeys with one name is meant', async () => {
    expect(await remove('eve --passkey Phone')).toEqual({
      code: 1,
      said: 'Several passkeys have the name Phone. Name one by its ID: a-phone, b-phone.\n',
    });
    expect((await remove('eve --passkey b-phone')).code).toBe(0);
    expect(await ids()).toEqual(['a-laptop', 'a-phone']);
  });

  it.each([
    ['ada --passkey Laptop', 1, 'They have no passkey Laptop. Nothing has changed.\n'],
    ['ada --app', 1, 'They have no authenticator app. Nothing has changed.\n'],
    ['eve --provider club', 1, 'They have no link with the provider club. Nothing has changed.\n'],
    ['bob --app', 1, 'There is no user bob in the tenant acme.\n'],
    ['eve', 2, 'Say what to remove: one of --passkey, --provider or --app.\n'],
    ['eve --app --provider corp', 2, 'Say what to remove: one of --passkey, --provider or --app.\n'],
  ])('refuses %s', async (options, code, said) => {
    expect(await remove(options)).toEqual({ code, said });
  });
});
