import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { describe, expect, it, onTestFinished } from 'vitest';
import { migrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { loadConfig } from '@tessera/process';
import { openDatabase, openRedis, probe } from '@tessera/stores';
import { createServiceRoles } from '@tessera/test-kit/provision';
import { newDatabaseUrl, redisUrl, silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { directly, file, pepper, printed, rows, secrets, serving, tessera } from '../testing/run-command.ts';
import { schemas } from '../processes.ts';

function withWrongPassword(href: string): string {
  const url = new URL(href);
  url.password = 'wrong-one';
  return url.href;
}

/** Creates a role for `work` that may connect to the database and nothing else until it is granted more. */
async function asStranger(
  href: string,
  work: (url: string, role: string, grant: (sql: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  const owner = await openDatabase({ url: href });
  const role = `tessera_cli_stranger_${process.pid}`;
  try {
    await owner.migration((session) => session.run(`CREATE ROLE ${role} LOGIN PASSWORD 'password'`));
    const url = new URL(href);
    [url.username, url.password] = [role, 'password'];
    await work(url.href, role, async (sql) => owner.migration(async (session) => session.run(sql)));
  } finally {
    await owner.migration((session) => session.run(`DROP OWNED BY ${role}; DROP ROLE ${role}`));
    await owner.close();
  }
}

/** Runs `work` as a user of Redis with these rules, and gives it a look at all keys. */
async function asRedisUser(
  rules: readonly string[],
  work: (url: string, keys: (pattern: string) => Promise<unknown>) => Promise<void>,
): Promise<void> {
  const name = `tessera-${process.pid}`;
  const owner = await openRedis({ url: redisUrl() });
  try {
    await owner.call('ACL', 'SETUSER', name, 'reset', 'on', '>password', ...rules);
    await work(Object.assign(new URL(redisUrl()), { username: name, password: 'password' }).href, (pattern) =>
      owner.call('KEYS', pattern),
    );
  } finally {
    await owner.call('ACL', 'DELUSER', name);
    await owner.close();
  }
}

describe('tessera migrate', () => {
  it('knows the migrations of every service', () => {
    const found = globSync('../../../../libs/*/sql', { cwd: import.meta.dirname });
    const owners = new Set(found.map((path) => path.split('/').at(-2)));
    expect(new Set(schemas.map(({ schema }) => schema))).toEqual(owners);
  });

  it('brings every schema up to date, and can be repeated', async () => {
    const url = await newDatabaseUrl();
    for (let time = 0; time < 2; time += 1) {
      const { code, said } = await tessera('migrate', { DATABASE_URL: url });
      expect(said).toBe(
        'keys is up to date.\ndirectory is up to date.\nauthorize is up to date.\ndevice is up to date.\ntoken is up to date.\n',
      );
      expect(code).toBe(0);
    }
    expect(await rows(url, 'SELECT count(*)::int AS count FROM token.refresh_family')).toEqual([
      { count: 0 },
    ]);
  });

  it('names the missing setting in one sentence', async () => {
    for (const command of ['migrate', 'epoch bump'])
      expect(await tessera(command, {})).toEqual({
        code: 1,
        said: 'DATABASE_URL is required. Set it, or DATABASE_URL_FILE to the path of a file that holds it.\n',
      });
    const { said } = await tessera('migrate', {
      DATABASE_URL: 'postgres://x/y',
      TESSERA_DATABSE_POOL_SIZE: '1',
    });
    expect(said).toContain('TESSERA_DATABSE_POOL_SIZE is not a setting of Tessera.');
  });
});

describe('a database that needs operator action', () => {
  it.each([
    ['migrate', 'Migrating keys'],
    ['apply -f unread.yaml --direct', 'Waiting for the schema'],
    ['epoch bump', 'Waiting for the schema'],
  ])('makes tessera %s fail at once and say what to change', async (command, what) => {
    const DATABASE_URL = withWrongPassword(await newDatabaseUrl());
    expect(await tessera(command, { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper })).toEqual({
      code: 1,
      said: `${what} cannot be done. Postgres refuses the password of DATABASE_URL. Correct DATABASE_URL, or the password of the role.\n`,
    });
  });
});

describe('a database role without a privilege', () => {
  it('is named by tessera migrate, apply, epoch bump and doctor, with the GRANT that fixes it (SQLSTATE 42501)', async () => {
    const owned = await newDatabaseUrl();
    await asStranger(owned, async (DATABASE_URL, role) => {
      const ask = async (words: string) => tessera(words, { DATABASE_URL, ...secrets });
      const database = new URL(owned).pathname.slice(1);
      expect(await ask('migrate')).toEqual({
        code: 1,
        said:
          `Migrating keys cannot be done. The role ${role} may not make the schema keys: permission denied for database ` +
          `${database}. Run GRANT CREATE ON DATABASE ${database} TO ${role}, or migrate as another role.\n`,
      });
      await tessera('migrate', { DATABASE_URL: owned });
      const grants = new RegExp(
        `The role ${role} may not read the schema directory: .*: GRANT USAGE ON SCHEMA directory TO ${role}; `,
      );
      for (const words of ['apply -f unread.yaml --direct', 'epoch bump']) {
        const { code, said } = await ask(words);
        expect([code, said.split('\n')]).toEqual([1, [expect.stringMatching(grants), '']]);
        expect(said).toMatch(/^Waiting for the schema cannot be done\. /);
      }
      expect((await ask('doctor')).said).toMatch(grants);
    });
  });

  it('gets its own hint if it may only read the schema', async () => {
    const owned = await newDatabaseUrl();
    await tessera('migrate', { DATABASE_URL: owned });
    await asStranger(owned, async (DATABASE_URL, role, grant) => {
      await grant(`GRANT USAGE ON SCHEMA directory TO ${role}`);
      await grant(`GRANT SELECT ON ALL TABLES IN SCHEMA directory TO ${role}`);
      expect(await tessera('epoch bump', { DATABASE_URL })).toEqual({
        code: 1,
        said: expect.stringMatching(
          /^Bumping the epoch cannot be done\. permission denied for table \w+\. The role of DATABASE_URL lacks a right\. Grant it .*\n$/,
        ) as string,
      });
    });
  });
});

describe('tessera check', () => {
  const state = (...lines: string[]) => `tenants:\n  - id: acme\n    name: Acme\n${lines.join('\n')}\n`;

  it('needs no server and lists unresolved references', async () => {
    const good = file(state('    users:', '      - { username: ada, passwordFromEnv: ADA_PASSWORD }'));
    expect(await tessera(`check -f ${good}`, {})).toEqual({
      code: 0,
      said:
        'tenants[0].users[0].passwordFromEnv is not checked: the variable ADA_PASSWORD is not set.\n' +
        '1 tenant, no mistakes.\n',
    });
    const here = { ADA_PASSWORD: 'correct horse battery staple' };
    expect((await tessera(`check -f ${good}`, here)).said).toBe('1 tenant, no mistakes.\n');
    expect((await tessera('check -f -', {}, undefined, state())).said).toBe('1 tenant, no mistakes.\n');
  });

  it('warns of tokens that servers refuse, and finds no mistake', async () => {
    const roles = Array.from({ length: 700 }, (_, index) => `department-${index}-of-the-company`);
    const application = (clientId: string, more = '') =>
      `      - { clientId: ${clientId}, name: Web, type: public, grantTypes: [device_code], scopes: [read]${more} }`;
    const warned = file(
      state(
        '    resources:',
        '      - { audience: https://host.example, name: One, scopes: [read] }',
        '      - { audience: https://host.example/b, name: Other, scopes: [look], roles: [few] }',
        '      - { audience: https://host.example/a, name: Third }',
        `    roles: [few, ${roles.join(', ')}]`,
        '    users:',
        '      - { username: bob, password: difference engine 1822, roles: [few] }',
        `      - { username: ada, password: analytical engine 1843, roles: [few, ${roles.join(', ')}] }`,
        '    applications:',
        application('all'),
        application('some', ', roles: [few]'),
        application('other').replace('[read]', '[look]'),
        application('closed', ', allowedRoles: [tessera.auditor]'),
      ),
    );
    expect(await tessera(`check -f ${warned}`, {})).toEqual({
      code: 0,
      said:
        'Warning: tenant acme: access tokens of the application all for ada name 701 roles and have about 30 KiB, and many servers take no more than 8 KiB in a header; list the roles that it needs in the roles of the application or resource.\n' +
        '1 tenant, no mistakes.\n',
    });
  });

  it('refuses what apply refuses: audiences that are one URI, and names of others (RFC 3986 §6.2.3)', async () => {
    const host = (audience: string) => `      - { audience: ${audience}, name: Host }`;
    const refused = file(
      [
        state(
          '    resources:',
          host('https://host.example'),
          host('https://host.example/'),
          host('https://other.example'),
          '    users: [{ username: ada }, { username: eve, preferredUsername: Ada }]',
        ),
        '  - { id: globex, name: Globex, resources: [{ audience: https://other.example/, name: Host }] }\n',
        '  - { id: initech, resources: [{ audience: https://other.example, name: Host }] }\n',
      ].join(''),
    );
    const { code, said } = await tessera(`check -f ${refused}`, {});
    expect(code).toBe(1);
    expect(said.match(/tenants\S+/g)).toEqual([
      'tenants[0].resources[1].audience:',
      'tenants[0].users[0].username:',
      'tenants[0].users[1].preferredUsername:',
      'tenants[1].resources[0].audience:',
    ]);
  });

  it.each([
    'TESSERA_ACCESS_TOKEN',
    'TESSERA_ACCESS_TOKEN_FILE',
    'TESSERA_API',
    'TESSERA_API_CA',
    'TESSERA_API_CA_FILE',
    'TESSERA_API_SERVER_NAME',
    'TESSERA_CLIENT_ID',
    'TESSERA_CLIENT_SECRET',
    'TESSERA_CLIENT_SECRET_FILE',
    'TESSERA_CONTEXT',
    'TESSERA_ISSUER',
    'TESSERA_TENANT',
  ])('needs nothing of what a pipeline gives the other commands, and accepts %s', async (variable) => {
    expect(await tessera(`check -f ${file(state())}`, { [variable]: 'https://id.example' })).toEqual({
      code: 0,
      said: '1 tenant, no mistakes.\n',
    });
  });

  it.each([
    ['TESSERA_PASSWORD_MIN_LENGTH', 'TESSERA_PASSWORD_MIN_LENGTH:'],
    ['TESSERA_CLIENT_SECRETS', 'TESSERA_CLIENT_SECRETS is not a setting of Tessera.'],
    ['TESSERA_CLIENT_SECRET_FILES', 'TESSERA_CLIENT_SECRET_FILES is not a setting of Tessera.'],
    ['TESSERA_API_CA_FILE_FILE', 'TESSERA_API_CA_FILE_FILE is not a setting of Tessera.'],
  ])('refuses what is wrong with settings: %s', async (variable, why) => {
    const { code, said } = await tessera(`check -f ${file(state())}`, { [variable]: 'long' });
    expect([code, said]).toEqual([1, expect.stringContaining(why)]);
  });

  it('finds weak passwords, by the minimum length of the environment', async () => {
    const named = file(state('    users:', '      - { username: ada, passwordFromEnv: ADA_PASSWORD }'));
    const check = async (password: string, length: string) =>
      (await tessera(`check -f ${named}`, { ADA_PASSWORD: password, TESSERA_PASSWORD_MIN_LENGTH: length }))
        .said;
    expect(await check('short', '8')).toContain('users[0].password: must have at least 8 characters');
    expect(await check('iloveyou', '8')).toContain('users[0].password: is one of the most common passwords');
    expect(await check('short', '5')).toBe('1 tenant, no mistakes.\n');
  });

  it('reports malformed keys and rule violations together', async () => {
    const { code, said } = await tessera(
      `check -f ${file(state('    roles: [clerk, clerk]', '    users:', '      - { username: ada, email: nowhere }'))}`,
      {},
    );
    expect(code).toBe(1);
    expect(said).toMatch(/users\[0\]\.email: must be an e-mail address/);
    expect(said).toMatch(/roles\[1\]: is declared twice/);
  });
});

describe('tessera schema', () => {
  it('prints the JSON Schema of the declared state, without a server or settings', async () => {
    const { code, out, said } = await printed('schema', {});
    expect([code, said]).toEqual([0, out]);
    expect(JSON.parse(out)).toMatchObject({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      required: ['tenants'],
      additionalProperties: false,
    });
    expect(out).toMatch(/^\{\n {2}"\$schema": .*\n\}\n$/s);
  });
});

describe('tessera apply', () => {
  const state = 'tenants:\n  - id: acme\n    name: Acme\n    roles: [clerk]\n';

  it('creates the tenants of the file in the database, once', async () => {
    const environment = { DATABASE_URL: await newDatabaseUrl(), TESSERA_DIRECTORY_PEPPER: pepper };
    await tessera('migrate', environment);
    const first = await directly(`apply -f ${file(state)}`, environment);
    expect(first).toEqual({
      code: 0,
      said: expect.stringMatching(/^acme: [1-9]\d* created, 0 updated, 0 deleted\n$/) as string,
    });
    const second = await directly(`apply --file ${file(state)}`, environment);
    expect(second).toEqual({ code: 0, said: 'acme: 0 created, 0 updated, 0 deleted\n' });
    expect(await rows(environment.DATABASE_URL, 'SELECT tenant_id FROM directory.tenant')).toEqual([
      { tenant_id: 'acme' },
    ]);
  });

  it('reads standard input if the file is -, and so does tessera diff', async () => {
    const environment = { DATABASE_URL: await newDatabaseUrl(), TESSERA_DIRECTORY_PEPPER: pepper };
    await tessera('migrate', environment);
    const ask = (words: string, input: string) => directly(words, environment, undefined, input);
    expect((await ask('diff --file -', state)).code).toBe(1);
    expect((await ask('apply --file -', state)).said).toMatch(/^acme: [1-9]\d* created/);
    expect((await ask('diff --file -', state)).code).toBe(0);
    const mistaken = await ask('apply --file -', `${state}    colour: blue\n`);
    expect(mistaken.said).toMatch(/^standard input:5:\d+: .*colour/);
    expect(mistaken.code).toBe(1);
    const nothing = await ask('apply --file -', '');
    expect([nothing.code, nothing.said]).toEqual([
      1,
      expect.stringMatching(/^standard input:1:1: must be a set of keys/),
    ]);
  });

  it('names file, line and key of a mistake, and changes nothing', async () => {
    const environment = { DATABASE_URL: await newDatabaseUrl(), TESSERA_DIRECTORY_PEPPER: pepper };
    await tessera('migrate', environment);
    const { code, said } = await directly(`apply -f ${file(`${state}    colour: blue\n`)}`, environment);
    expect(code).toBe(1);
    expect(said).toMatch(/tessera\.yaml:5:\d+: .*colour/);
    expect(await rows(environment.DATABASE_URL, 'SELECT tenant_id FROM directory.tenant')).toEqual([]);
  });
});

describe('tessera apply with missing input', () => {
  it('requires a process first, and names --direct where there is a database', async () => {
    const { code, said } = await tessera('apply -f unread.yaml', {});
    expect(code).toBe(1);
    expect(said).toMatch(/^No process serves the data directory .* Start Tessera there \(npm start\)/);
    expect(said).not.toContain('--direct');
    const beside = await tessera('apply -f unread.yaml', { DATABASE_URL: await newDatabaseUrl() });
    expect([beside.code, beside.said]).toEqual([
      1,
      expect.stringMatching(/ Where nobody serves, --direct works on the database of DATABASE_URL\.\n$/),
    ]);
  });

  it('names the option for the file', async () => {
    const environment = { DATABASE_URL: await newDatabaseUrl(), TESSERA_DIRECTORY_PEPPER: pepper };
    await tessera('migrate', environment);
    expect(await directly('apply -f missing.yaml', environment)).toEqual({
      code: 1,
      said: '--file names missing.yaml, which cannot be read (ENOENT). Correct the path or its permissions.\n',
    });
  });
});

describe('tessera secret list', () => {
  const of = (secrets: string) =>
    'tenants:\n  - id: acme\n    name: Acme\n    applications:\n      - {clientId: desk, name: Desk, type: confidential, ' +
    `grantTypes: [client_credentials], secrets: ${secrets}}\n      - {clientId: tv, name: TV, type: public, grantTypes: [device_code]}\n`;
  const value = (name: string) => `value: ${name}-secret-of-at-least-32-characters`;

  it('shows for each secret its declaration, expiry and last use', async () => {
    const environment = { DATABASE_URL: await newDatabaseUrl(), TESSERA_DIRECTORY_PEPPER: pepper };
    await tessera('migrate', environment);
    const list = (clientId: string) => directly(`secret list --client-id ${clientId}`, environment);
    const declare = (secrets: string) => directly(`apply -f ${file(of(secrets))}`, environment);
    const [past, future] = ['2020-01-31T12:00:00Z', '2999-01-31T12:00:00Z'];
    await declare(`[{${value('old')}, expiresAt: ${past}}]`);
    const time = '\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ';
    const id = '[\\w-]+';
    const first = `${id}: declared ${time}, expired ${past}, never used\n`;
    expect(await list('desk')).toEqual({
      code: 0,
      said: expect.stringMatching(new RegExp(`^${first}$`)) as string,
    });
    await declare(`[{${value('new')}, expiresAt: ${future}}, {${value('old')}}]`);
    const used = `UPDATE directory.application_secret SET last_used_at = '2026-01-02T03:04:05.6Z' WHERE expires_at IS NOT NULL`;
    await rows(environment.DATABASE_URL, used);
    const second = `${id}: declared ${time}, expires ${future}, last used 2026-01-02T03:04:05Z\n`;
    const { said } = await list('desk');
    expect(said).toMatch(new RegExp(`^${id}: declared ${time}, never expires, never used\n${second}$`));
    const ofTenant = async (tenant: string) =>
      directly(`secret list --tenant ${tenant} --client-id desk`, environment);
    expect(await ofTenant('acme')).toEqual({ code: 0, said });
    expect(await ofTenant('globex')).toEqual({ code: 1, said: 'There is no application desk.\n' });
    expect(await list('tv')).toEqual({ code: 0, said: 'tv has no secrets.\n' });
    expect(await list('phone')).toEqual({ code: 1, said: 'There is no application phone.\n' });
  });

  it('calls the given directory, as tessera apply does, without a database', async () => {
    const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper });
    const runtime = testRuntime({ database: await testDatabase(migrations), log: silentLog() });
    const environment = await serving(buildDirectory(config, {}, runtime), 'directory');
    expect(await tessera(`apply -f ${file(of(`[{${value('new')}}]`))}`, environment)).toEqual({
      code: 0,
      said: 'acme: 3 created, 0 updated, 0 deleted\n',
    });
    expect((await tessera('secret list --client-id desk', environment)).said).toMatch(
      /^[\w-]+: declared [^ ]+Z, never expires, never used\n$/,
    );
    expect(await tessera('secret list --client-id phone', environment)).toEqual({
      code: 1,
      said: 'There is no application phone.\n',
    });
  });

  it('names the settings it needs', async () => {
    expect((await tessera('secret list', {})).said).toMatch(
      /^error: required option '--client-id <id>' not specified/,
    );
    expect(await tessera('secret list --client-id desk', {})).toEqual({
      code: 1,
      said: expect.stringMatching(
        /^No process serves the data directory .* or set TESSERA_DATA_DIR or TESSERA_PEERS\.\n$/,
      ) as string,
    });
  });
});

describe('tessera epoch bump', () => {
  it('invalidates the sign-ins of one tenant or of all, and audits the actor', async () => {
    const environment = { DATABASE_URL: await newDatabaseUrl(), TESSERA_DIRECTORY_PEPPER: pepper };
    await tessera('migrate', environment);
    expect(await tessera('epoch bump', environment)).toEqual({ code: 1, said: 'There is no tenant.\n' });
    const state = 'tenants:\n  - {id: acme, name: Acme}\n  - {id: globex, name: Globex}\n';
    await directly(`apply -f ${file(state)}`, environment);
    const dated = 'sign-ins before \\d{4}-\\d\\d-\\d\\dT[\\d:.]+Z are no longer valid\n';
    const one = await tessera('epoch bump --tenant acme', environment);
    expect(one).toEqual({ code: 0, said: expect.stringMatching(new RegExp(`^acme: ${dated}$`)) as string });
    const all = await tessera('epoch bump', environment);
    expect(all.said).toMatch(new RegExp(`^acme: ${dated}globex: ${dated}$`));
    expect(await tessera('epoch bump --tenant nowhere', environment)).toEqual({
      code: 1,
      said: 'There is no tenant nowhere.\n',
    });
    const events = `SELECT tenant_id, record -> 'actor' ->> 'type' AS actor FROM directory.audit_event
                     WHERE event = 'epoch.bumped' ORDER BY recorded_at, tenant_id`;
    expect(await rows(environment.DATABASE_URL, events)).toEqual(
      ['acme', 'acme', 'globex'].map((tenant_id) => ({ tenant_id, actor: 'operator' })),
    );
  });
});

describe('tessera config check', () => {
  it('accepts settings with which a process can start', async () => {
    expect(await tessera('config check', secrets)).toEqual({
      code: 0,
      said: 'standalone can start with this configuration.\n',
    });
  });

  it('does not require secrets that embedded stores generate, in the single process only', async () => {
    expect(await tessera('config check', {})).toEqual({
      code: 0,
      said: `standalone can start with this configuration.\nWhen it starts, it generates ${Object.keys(secrets).join(', ')} for its embedded stores.\n`,
    });
    expect(await tessera('config check', { ...secrets, TESSERA_KEYS_KEK: '' })).toMatchObject({
      code: 0,
      said: expect.stringContaining('it generates TESSERA_KEYS_KEK for') as string,
    });
    const wrong = await tessera('config check', { TESSERA_KEYS_KEK: 'short' });
    expect(wrong).toMatchObject({
      code: 1,
      said: expect.stringMatching(/^TESSERA_KEYS_KEK: .*\n$/) as string,
    });
    const brought = await tessera('config check', { DATABASE_URL: 'postgres://db.example/tessera' });
    for (const key of Object.keys(secrets)) expect(brought.said).toContain(`${key} is missing.`);
    expect((await tessera('config check --process keys', {})).said).toContain('TESSERA_KEYS_KEK is missing.');
  });

  it('lists every mistake that prevents a start', async () => {
    const { code, said } = await tessera('config check --process gateway', { TESSERA_RPC_AUTH: 'none' });
    expect(code).toBe(1);
    expect(said).toContain('REDIS_URL is required.');
    expect(said).toContain(
      'TESSERA_PEERS does not say where these are: keys, directory, authorize, token, device.\n',
    );
    expect((await tessera('config check --process keys', { TESSERA_LIFETIME_COD: '1s' })).said).toMatch(
      /TESSERA_LIFETIME_COD is not a setting[^]*TESSERA_KEYS_KEK is missing/,
    );
  });

  it('asks for the address of every service that the admin process calls', async () => {
    const main = readFileSync(join(import.meta.dirname, '../../../admin/src/main.ts'), 'utf8');
    const called = [...new Set([...main.matchAll(/peers\('(\w+)'\)/g)].map(([, name = '']) => name))];
    expect(called).toHaveLength(5);
    const { said } = await tessera('config check --process admin', { TESSERA_RPC_AUTH: 'none' });
    const [, missing = ''] = /TESSERA_PEERS does not say where these are: (.*)\.\n/.exec(said) ?? [];
    expect(missing.split(', ').toSorted()).toEqual(called.toSorted());
  });

  it('reports certificates that the Redis URL does not use', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tessera-redis-tls-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    writeFileSync(join(folder, 'ca.crt'), 'pem');
    const environment = { ...secrets, REDIS_URL: 'redis://redis', TESSERA_REDIS_TLS_DIR: folder };
    expect((await tessera('config check', environment)).said).toContain('use a rediss:// URL');
  });

  it('refuses an unknown process name', async () => {
    expect((await tessera('config check --process gatewy', {})).said).toContain(
      'gatewy is no process of Tessera',
    );
  });
});

describe('tessera doctor', () => {
  it('reports a healthy deployment', async () => {
    const environment = { ...secrets, DATABASE_URL: await newDatabaseUrl(), REDIS_URL: redisUrl() };
    await tessera('migrate', environment);
    const { code, said } = await tessera('doctor', environment);
    expect(said).not.toContain('BAD');
    expect(said.split('\n').filter((line) => /^good .*(?:schema|keys in Redis)/.test(line))).toEqual([
      'good  schema keys, directory, authorize, device, token',
      'good  rights in the schema keys, directory, authorize, device, token',
      'good  keys in Redis tessera:gateway:*, tessera:authorize:*, tessera:token:*, tessera:device:*',
    ]);
    expect(said.match(/^good /gm)).toHaveLength(11);
    expect(said).not.toContain('password hashes cost');
    expect(code).toBe(0);
  });

  it('counts stored password hashes above the bounds, says whose they are, and to reset them', async () => {
    const environment = { ...secrets, DATABASE_URL: await newDatabaseUrl() };
    await tessera('migrate', environment);
    const database = await openDatabase({ url: environment.DATABASE_URL });
    await database.query({
      name: 'test.dear_hash',
      text: `WITH acme AS (INSERT INTO directory.tenant (tenant_id, name, status) VALUES ('acme', 'Acme', 'active'))
             INSERT INTO directory.user_account
               (tenant_id, user_id, username, email, name, phone_number, status, password_hash)
             VALUES ('acme', 'usr_1', 'ada', '', '', '', 'active', $1)`,
      values: ['$2b$14$.RJJ/wIRZRZBMkucu0aRhOPh7UUbVqzjNn1gCQbrnVW13z9Zou2.O'],
    });
    await database.close();
    const { code, said } = await tessera('doctor', environment);
    expect(said).toContain('1 stored password hashes cost more than is accepted and are not compared. Reset');
    expect(said).toContain('usr_1 of acme');
    expect(said).not.toContain('RJJ');
    expect(code).toBe(0);
  });

  it.each(['token', 'keys', 'gateway'])(
    'looks at the schema and the keys of %s alone, with the role of that service',
    async (process) => {
      const url = await newDatabaseUrl();
      await tessera('migrate', { DATABASE_URL: url });
      const urlFor = await createServiceRoles(url);
      const { said } = await tessera(`doctor --process ${process}`, {
        DATABASE_URL: urlFor(process === 'gateway' ? '' : process),
        REDIS_URL: redisUrl(),
      });
      const looked = [
        ...said.matchAll(/^good {2}(?:rights in the schema (\w+)|keys in Redis tessera:(\w+):\*)$/gm),
      ];
      expect(looked.map(([, schema, key]) => schema ?? `${key}:*`)).toEqual(
        { token: ['token', 'token:*'], keys: ['keys'], gateway: ['gateway:*'] }[process],
      );
      expect(said).not.toMatch(/BAD {3}(?!settings)/);
    },
  );

  it('finds a database role that may read and not write, and leaves no row', async () => {
    const owned = await newDatabaseUrl();
    await tessera('migrate', { DATABASE_URL: owned });
    await asStranger(owned, async (DATABASE_URL, role, grant) => {
      const doctor = async () => (await tessera('doctor --process keys', { ...secrets, DATABASE_URL })).said;
      await grant(
        `GRANT USAGE ON SCHEMA keys TO ${role}; GRANT SELECT ON ALL TABLES IN SCHEMA keys TO ${role}`,
      );
      const bad = new RegExp(
        `^BAD {3}rights in the schema keys: The role ${role} may not read and write the schema keys: permission denied for table \\w+\\. ` +
          `Run as its owner, \\w+: GRANT USAGE .*INSERT`,
        'm',
      );
      expect(await doctor()).toMatch(bad);
      await grant(`GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA keys TO ${role}`);
      expect(await doctor()).toContain('good  rights in the schema keys\n');
      await grant(`REVOKE DELETE ON keys.tenant_signing_key FROM ${role}`);
      expect(await doctor()).toMatch(bad);
    });
    expect(await rows(owned, 'SELECT count(*)::int AS count FROM keys.audit_event')).toEqual([{ count: 0 }]);
  });

  it.each([
    ['other keys', ['~other:*', '+@all']],
    ['no scripts', ['~tessera:*', '+@all', '-evalsha', '-eval']],
    ['not every command of a script', ['~tessera:*', '+@all', '-zadd']],
    ['keys only to read', ['%R~tessera:*', '+@all']],
  ])('finds a user of Redis who may use %s', async (_title, rules) => {
    await asRedisUser(rules, async (REDIS_URL) => {
      const { code, said } = await tessera('doctor', { REDIS_URL });
      expect(code).toBe(1);
      for (const service of ['gateway', 'authorize', 'token', 'device'])
        expect(said).toMatch(
          new RegExp(
            `^BAD {3}keys in Redis tessera:${service}:\\*: .*The user of REDIS_URL lacks a right\\.`,
            'm',
          ),
        );
    });
  });

  it('is content with the rules that the documentation gives a user of Redis, and leaves no key', async () => {
    const guide = readFileSync(new URL('../../../../docs/operations.md', import.meta.url), 'utf8');
    const rules = /^- \*\*Rules of the user\*\*: `([^`]+)`/m.exec(guide)?.[1]?.split(' ') ?? [];
    expect(rules).toContain('~tessera:*');
    await asRedisUser(rules, async (REDIS_URL, keys) => {
      expect(await tessera('doctor', { REDIS_URL })).toMatchObject({ code: 0 });
      expect(await keys('tessera:*doctor*')).toEqual([]);
    });
  });

  it('names a Redis database that is not there, and a file that is not there, without a stack', async () => {
    const { code, said } = await tessera('doctor', {
      ...secrets,
      DATABASE_URL: 'postgres://db/t?sslmode=verify-full&sslrootcert=/nowhere/ca.pem',
      REDIS_URL: Object.assign(new URL(redisUrl()), { pathname: '/9999' }).href,
    });
    expect(code).toBe(1);
    const file = 'The file that sslrootcert in DATABASE_URL names cannot be read (ENOENT).';
    expect(said.trim().split('\n')).toEqual([
      `BAD   settings of standalone: ${file}`,
      `BAD   database: ${file}`,
      expect.stringMatching(/^BAD {3}Redis.*: Redis has no database 9999\. Raise/),
      '3 of 3 checks failed.',
    ]);
    expect((await tessera('migrate', { DATABASE_URL: 'postgres://db/t?sslrootcert=/nowhere' })).said).toMatch(
      /^The configuration has a problem:\n.*sslrootcert.*\n$/,
    );
  });

  it('tries every command that the scripts and stores of the services use', () => {
    const sources = globSync('../../../../libs/*/src/**/*.ts', { cwd: import.meta.dirname })
      .filter((path) => !/\.(test|contract)\.ts$|\/testing\/|test-kit/.test(path))
      .map((path) => readFileSync(join(import.meta.dirname, path), 'utf8'));
    const used = new Set(
      sources.flatMap((text) => [...text.matchAll(/redis\.call\('([A-Z]+)'/g)].map(([, name]) => name)),
    );
    used.delete('PING');
    expect(used.size).toBeGreaterThan(15);
    const tried = [...probe.lua.matchAll(/redis\.call\('([A-Z]+)'/g)].map(([, name]) => name);
    expect(new Set(tried)).toEqual(used);
  });

  it('accepts an empty environment, as the single process does', async () => {
    expect(await tessera('doctor', {})).toEqual({ code: 0, said: 'good  settings of standalone\n' });
  });

  it('reports a rejected database password once, with its fix, in human-readable lines only', async () => {
    const DATABASE_URL = withWrongPassword(await newDatabaseUrl());
    const { code, said } = await tessera('doctor', {
      ...secrets,
      DATABASE_URL,
      REDIS_URL: 'redis://127.0.0.1:1',
    });
    expect(code).toBe(1);
    const lines = said.trim().split('\n');
    expect(lines).toEqual([
      'good  settings of standalone',
      expect.stringMatching(
        /^BAD {3}database: password .*\. Postgres refuses the password of DATABASE_URL\./,
      ),
      expect.stringMatching(/^BAD {3}Redis.*ECONNREFUSED/),
      '2 of 3 checks failed.',
    ]);
    expect(said).not.toContain('wrong-one');
  });

  it('reports every problem and continues checking', async () => {
    const environment = { DATABASE_URL: await newDatabaseUrl(), REDIS_URL: 'redis://127.0.0.1:1' };
    const { code, said } = await tessera('doctor', environment);
    expect(code).toBe(1);
    expect(said).toMatch(/BAD {3}settings of standalone: .*TESSERA_KEYS_KEK is missing/);
    expect(said).toContain('good  database');
    expect(said).toContain('BAD   schema keys: Migration keys/0003_baseline.sql is not applied yet.');
    expect(said).toContain('BAD   Redis');
  });

  it.each(['redis+sentinel://127.0.0.1:1/main', 'redis+cluster://127.0.0.1:1'])(
    'explains why %s is unreachable',
    async (url) => {
      const environment = { ...secrets, DATABASE_URL: await newDatabaseUrl(), REDIS_URL: url };
      expect((await tessera('doctor', environment)).said).toMatch(/BAD {3}Redis.*ECONNREFUSED/);
    },
  );
});

describe('tessera doctor --secrets', () => {
  const planted = 'a-planted-client-secret-of-this-test';
  const provider = 'a-planted-provider-secret-of-this-test';
  const stateOf = (application: string) => `tenants:
  - id: acme
    name: Acme
    providers: [{ name: corp, issuer: 'https://idp.example', clientId: tessera, clientSecret: ${provider} }]
    applications:
      - { clientId: orders, name: Orders, type: confidential, grantTypes: [client_credentials], ${application} }
`;
  const trusting = "trusts: [{ issuer: 'https://ci.example', subject: orders }]";

  it('names every secret that is left and shows none, and fails on a client secret', async () => {
    const environment = { ...secrets, DATABASE_URL: await newDatabaseUrl() };
    await tessera('migrate', environment);
    const apply = async (application: string) =>
      tessera(`apply --direct -f ${file(stateOf(application))}`, environment);
    expect(await apply(trusting)).toMatchObject({ code: 0 });
    const listed = async (more: Record<string, string> = {}) =>
      tessera('doctor --secrets', { ...environment, ...more });
    const left = [
      'setting          DATABASE_URL',
      'setting          TESSERA_DIRECTORY_PEPPER',
      'setting          TESSERA_KEYS_KEK',
      'setting          TESSERA_TOKEN_REFRESH_KEYS',
      'provider secret  acme: corp',
    ];
    const { code, said } = await listed();
    expect([code, said.trim().split('\n').toSorted()]).toEqual([
      0,
      [...left, 'No client secret is left.'].toSorted(),
    ]);
    expect(await apply(`${trusting}, secrets: [{ value: ${planted} }]`)).toMatchObject({ code: 0 });
    const red = await listed();
    expect(red.code).toBe(1);
    expect(red.said).toContain('client secret    acme: orders\n');
    expect(red.said).toContain('1 client secret is left.');
    for (const text of [said, red.said])
      for (const value of [planted, provider, environment.DATABASE_URL, ...Object.values(secrets)])
        expect(text).not.toContain(value);
    const expired = `secrets: [{ value: ${planted}, expiresAt: '2020-01-01T00:00:00Z' }]`;
    expect(await apply(`${trusting}, ${expired}`)).toMatchObject({ code: 0 });
    expect((await listed()).code).toBe(0);
  });

  it.each(['TESSERA_CONSOLE_SECRET', 'TESSERA_CLIENT_SECRET'])(
    'fails on %s, which is that of a client',
    async (name) => {
      const environment = { ...secrets, DATABASE_URL: await newDatabaseUrl() };
      await tessera('migrate', environment);
      const { code, said } = await tessera('doctor --secrets', { ...environment, [name]: planted });
      expect(code).toBe(1);
      expect(said).toContain(`client secret    ${name}\n`);
      expect(said).not.toContain(planted);
    },
  );

  it('looks into no database for a process that has no such secret in it, and says where they are', async () => {
    const environment = {
      DATABASE_URL: 'postgres://127.0.0.1:1/tessera',
      TESSERA_KEYS_KEK: secrets.TESSERA_KEYS_KEK,
    };
    expect(await tessera('doctor --secrets --process keys', environment)).toMatchObject({
      code: 0,
      said: expect.stringContaining('--process directory') as string,
    });
    const { code, said } = await tessera('doctor --secrets', secrets);
    expect([code, said]).toEqual([1, expect.stringContaining('DATABASE_URL is required')]);
  });
});

describe('tessera smoke', () => {
  const issuer = 'https://id.example.com';
  const answers =
    (documents: Record<string, object>): typeof fetch =>
    async (url) => {
      const { pathname } = new URL(String(url instanceof Request ? url.url : url));
      const found = documents[pathname];
      if (found !== undefined) return Response.json(found);
      return new Response(null, { status: pathname === '/userinfo' ? 401 : 404 });
    };
  const wellKnown = {
    '/.well-known/openid-configuration': { issuer },
    '/.well-known/oauth-authorization-server': { issuer },
    '/.well-known/jwks.json': { keys: [{ kid: 'one', kty: 'RSA' }] },
  };

  it('accepts metadata of the issuer and a key', async () => {
    const { code, said } = await tessera(
      'smoke --address http://gateway',
      { TESSERA_ISSUER: issuer },
      answers(wellKnown),
    );
    expect({ code, said }).toEqual({
      code: 0,
      said: 'good  openid-configuration\ngood  oauth-authorization-server\ngood  1 signing keys\ngood  an invalid token is rejected\n',
    });
  });

  it.each([
    [
      'names another issuer',
      { '/.well-known/openid-configuration': { issuer: 'https://else.example' } },
      'has issuer https://else.example',
    ],
    ['publishes no key', { '/.well-known/jwks.json': { keys: [] } }, 'The key set is empty.'],
    [
      'accepts an invalid token',
      { '/userinfo': { sub: 'ada' } },
      'answered an invalid token with status 200',
    ],
  ])('fails if the server %s', async (_title, documents, message) => {
    const { code, said } = await tessera(
      'smoke',
      { TESSERA_ISSUER: issuer },
      answers({ ...wellKnown, ...documents }),
    );
    expect(code).toBe(1);
    expect(said).toContain(message);
  });

  it('waits for a server that does not respond yet or is not ready, and says so', async () => {
    const early = [
      async () => Promise.reject(new TypeError('fetch failed', { cause: new Error('connect ECONNREFUSED') })),
      async () => new Response(null, { status: 503 }),
    ];
    const { code, said } = await tessera('smoke --wait 60s', { TESSERA_ISSUER: issuer }, async (url, init) =>
      (early.shift() ?? (async () => answers(wellKnown)(url, init)))(),
    );
    expect({ code, said }).toEqual({
      code: 0,
      said:
        `wait  ${issuer}/.well-known/openid-configuration does not respond: connect ECONNREFUSED\n` +
        `wait  ${issuer}/.well-known/openid-configuration answered with status 503\n` +
        'good  openid-configuration\ngood  oauth-authorization-server\ngood  1 signing keys\ngood  an invalid token is rejected\n',
    });
    expect((await tessera('smoke --wait soon', { TESSERA_ISSUER: issuer })).said).toContain(
      '--wait: expected a duration such as 60s or 2m.',
    );
  });

  const asClient = { TESSERA_ISSUER: issuer, TESSERA_CLIENT_ID: 'x', TESSERA_CLIENT_SECRET: 'y' };

  it('sends no secret to an issuer without TLS, but to an address that was given', async () => {
    const insecure = 'http://id.example.com';
    const documents = {
      ...wellKnown,
      '/.well-known/openid-configuration': { issuer: insecure },
      '/.well-known/oauth-authorization-server': { issuer: insecure },
    };
    const ask = (words: string) =>
      tessera(words, { ...asClient, TESSERA_ISSUER: insecure }, answers(documents));
    expect(await ask('smoke')).toEqual({
      code: 2,
      said: expect.stringContaining('--issuer must begin with https://') as string,
    });
    expect((await ask('smoke --address http://gateway')).said).toContain('/token answered with status');
  });

  it('sends no secret to a server whose metadata names a token endpoint without TLS', async () => {
    const documents = {
      ...wellKnown,
      '/.well-known/oauth-authorization-server': { issuer, token_endpoint: 'http://id.example.com/token' },
    };
    const urls: string[] = [];
    const ask = (words: string) =>
      tessera(words, asClient, async (url, init) => {
        urls.push(new URL(url instanceof Request ? url.url : url).href);
        return answers(documents)(url, init);
      });
    expect(await ask('smoke')).toEqual({
      code: 2,
      said: expect.stringContaining(`The token_endpoint of ${issuer} must begin with https://`) as string,
    });
    expect(urls).not.toContain(`${issuer}/token`);
    expect((await ask('smoke --address http://gateway')).said).toContain('/token answered with status');
  });

  it('fails if a token is refused', async () => {
    const refusing: typeof fetch = async (url, init) =>
      url === 'https://id.example.com/token'
        ? Response.json({ error: 'invalid_client' }, { status: 401 })
        : answers(wellKnown)(url, init);
    const { code, said } = await tessera('smoke', asClient, refusing);
    expect(code).toBe(1);
    expect(said).toContain('/token answered with status 401: invalid_client.');
  });

  it.each<[string, { kid?: string; other?: boolean; iss?: string; exp?: number }, string]>([
    ['accepts a token that a published key signed', {}, 'good  a token, signed by one of them'],
    ['refuses a token of an unpublished key', { kid: 'two' }, 'The token is signed with an unpublished key.'],
    ['refuses a token with a wrong signature', { other: true }, 'The signature of the token is invalid.'],
    ['refuses a token of another issuer', { iss: 'https://else.example' }, 'The token has another issuer.'],
    ['refuses an expired token', { exp: 1 }, 'The token is invalid: "exp" claim timestamp check failed.'],
  ])('%s', async (_title, { kid = 'one', other = false, iss = issuer, exp = 9_999_999_999 }, message) => {
    const published = await generateKeyPair('RS256');
    const signing = other ? await generateKeyPair('RS256') : published;
    const token = await new SignJWT({ iss, exp })
      .setProtectedHeader({ alg: 'RS256', kid })
      .sign(signing.privateKey);
    const key = { ...(await exportJWK(published.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' };
    const { code, said } = await tessera(
      'smoke',
      asClient,
      answers({
        ...wellKnown,
        '/.well-known/jwks.json': { keys: [key] },
        '/token': { access_token: token, token_type: 'Bearer', expires_in: 600 },
      }),
    );
    expect(said).toContain(message);
    expect(code).toBe(message.startsWith('good') ? 0 : 1);
  });
});
