import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { announceAdministration } from '@tessera/admin';
import { migrations as directoryMigrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { buildKeys, keysConfig, migrations as keysMigrations } from '@tessera/keys';
import { Secret, systemRandom } from '@tessera/kit';
import { loadConfig } from '@tessera/process';
import {
  Code,
  ConnectError,
  createProver,
  local,
  rootCall,
  serveConnect,
  type BuiltService,
} from '@tessera/rpc';
import { openDatabase, type Database } from '@tessera/stores';
import {
  DeclaredStateService,
  type ApplyDeclaredStateRequest,
} from '@tessera/proto-gen/admin-declared_state';
import { KeysService } from '@tessera/proto-gen/keys';
import { newDatabaseUrl, silentLog, testDatabase, testRuntime, waitFor } from '@tessera/test-kit';
import {
  directly,
  file,
  pepper,
  printed,
  rows,
  secrets,
  serving,
  tessera,
} from '../../testing/run-command.ts';

const { TESSERA_KEYS_KEK } = secrets;
const nobody =
  /^No process serves the data directory .*tessera-is-not-here\. Start Tessera there \(npm start\), log in elsewhere \(tessera login\), or set TESSERA_DATA_DIR or TESSERA_PEERS\.\n$/;

/** A running `keys` process on a database, which reloads the keys often. */
async function keysProcess(url: string): Promise<BuiltService> {
  const database = await openDatabase({ url });
  const config = loadConfig(keysConfig, { TESSERA_KEYS_KEK, TESSERA_KEYS_RELOAD_INTERVAL: '50ms' });
  const built = buildKeys(config, {}, testRuntime({ database, log: silentLog() }));
  onTestFinished(async () => {
    await built.close();
    await database.close();
  });
  await built.ready();
  return built;
}

/** The keys that a process publishes, newest first. */
async function publishedBy(built: BuiltService, algorithm = 'RS256'): Promise<string[]> {
  const asked = { algorithms: [algorithm], declared: [algorithm] };
  const { keys } = await local(KeysService, built, 'gateway').getPublicKeys(asked, rootCall('test'));
  return keys.map(({ kid }) => kid);
}

async function directory(database?: Database, TESSERA_DIRECTORY_PEPPER = pepper): Promise<BuiltService> {
  const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER });
  const stored = database ?? (await testDatabase(directoryMigrations));
  return buildDirectory(config, {}, testRuntime({ database: stored, log: silentLog() }));
}

/** A directory of a version without `diff`. */
function earlier(built: BuiltService): BuiltService {
  const routes = built.routes.map((route) => {
    const methods = route.service.methods.filter(
      ({ localName, parent }) => parent.typeName !== DeclaredStateService.typeName || localName !== 'diff',
    );
    return { ...route, service: { ...route.service, methods } };
  });
  return { ...built, routes };
}

interface ListedKey {
  readonly kid: string;
  readonly state: string;
  readonly algorithm: string;
}
const keysIn = async (environment: Record<string, string>, ask = directly) =>
  JSON.parse((await ask('keys list -o json', environment)).said) as readonly ListedKey[];
const lines = (said: string) => said.trimEnd().split('\n');

describe('tessera keys', () => {
  it('lists and rotates in the database, and running processes notice', async () => {
    const DATABASE_URL = await newDatabaseUrl(keysMigrations);
    const process = await keysProcess(DATABASE_URL);
    const environment = { DATABASE_URL, TESSERA_KEYS_KEK, TESSERA_KEYS_RELOAD_INTERVAL: '50ms' };
    const [first = ''] = await publishedBy(process);
    const [other = ''] = await publishedBy(process, 'ES256');
    expect(await directly('keys list', environment)).toEqual({
      code: 0,
      said: expect.stringMatching(
        new RegExp(`^KID .*\n${first}  active  RS256  .*\n${other}  active  ES256  .*\n$`),
      ) as string,
    });

    const next = await directly('keys rotate', environment);
    expect(next).toEqual({
      code: 0,
      said: expect.stringMatching(
        new RegExp(
          `^${first} remains active for RS256\\.\n${other} remains active for ES256\\.\nThe next key`,
        ),
      ) as string,
    });
    const listed = await keysIn(environment);
    expect(listed.map(({ state, algorithm }) => [state, algorithm])).toEqual([
      ['published', 'RS256'],
      ['active', 'RS256'],
      ['published', 'ES256'],
      ['active', 'ES256'],
    ]);
    const [published = '', , another = ''] = listed.map(({ kid }) => kid);
    // Again, it has nothing to publish.
    expect(await directly('keys rotate', environment)).toEqual(next);

    const now = await directly('keys rotate --now', environment);
    expect(now.code).toBe(0);
    expect(lines(now.said)).toEqual([
      `${published} is now active for RS256.`,
      `${another} is now active for ES256.`,
      expect.stringContaining('reject new tokens until their copy expires') as string,
      expect.stringContaining('leaves the key set after seven days') as string,
      `tessera keys revoke --kid=${first}`,
      `tessera keys revoke --kid=${other}`,
    ]);
    expect((await keysIn(environment)).map(({ kid, state }) => [kid, state])).toEqual([
      [published, 'active'],
      [first, 'retired'],
      [another, 'active'],
      [other, 'retired'],
    ]);
    const followed = [published, first];
    await waitFor(async () => expect(await publishedBy(process)).toEqual(followed));
    const events = `SELECT DISTINCT record -> 'actor' ->> 'type' AS actor FROM keys.audit_event WHERE event = 'key.retired'`;
    expect(await rows(DATABASE_URL, events)).toEqual([{ actor: 'operator' }]);

    const revoke = (kid: string) => directly(`keys revoke --kid=${kid}`, environment);
    expect(await revoke(published)).toEqual({
      code: 1,
      said: 'The key is active or the next to be. Rotate the keys first.\n',
    });
    expect(await revoke(first)).toEqual({
      code: 0,
      said: `${first} is no longer in the key set. Verifiers reject its tokens as soon as they fetch the keys again.\n`,
    });
    await waitFor(async () => expect(await publishedBy(process)).toEqual([published]));
    expect(await revoke(first)).toEqual({ code: 1, said: `There is no key ${first} in the key set.\n` });
  });

  it('calls the given service, also from a file, without a database or key', async () => {
    const built = await keysProcess(await newDatabaseUrl(keysMigrations));
    await publishedBy(built, 'ES256');
    const { TESSERA_PEERS = '', ...token } = await serving(built, 'keys');
    const environment = { ...token, TESSERA_PEERS_FILE: file(`${TESSERA_PEERS}\n`, 'keys') };
    const { code, said } = await tessera('keys rotate --now', environment);
    expect([code, said]).toEqual([0, expect.stringContaining(' is now active')]);
    expect((await keysIn(environment, tessera)).map(({ state }) => state)).toEqual([
      'active',
      'retired',
      'active',
      'retired',
    ]);
  });

  it('creates no key under another key-encryption key, and never the first key', async () => {
    const DATABASE_URL = await newDatabaseUrl(keysMigrations);
    const rotate = (environment: Record<string, string>) =>
      directly('keys rotate --now', { DATABASE_URL, TESSERA_KEYS_KEK, ...environment });
    expect(await rotate({})).toEqual({
      code: 1,
      said: 'Rotating the keys cannot be done. There is no signing key yet. The first process of the keys service generates it.\n',
    });
    await keysProcess(DATABASE_URL);
    const another = Buffer.alloc(32, 9).toString('base64');
    expect(await rotate({ TESSERA_KEYS_KEK: another })).toEqual({
      code: 1,
      said: 'Rotating the keys cannot be done. The signing key was wrapped under another key-encryption key than TESSERA_KEYS_KEK.\n',
    });
    expect(await rows(DATABASE_URL, 'SELECT state FROM keys.signing_key')).toEqual([{ state: 'active' }]);
  });

  it('names the settings it needs', async () => {
    const { code, said } = await tessera('keys list', { TESSERA_KEYS_KEK });
    expect([code, said]).toEqual([1, expect.stringMatching(nobody)]);
    const DATABASE_URL = await newDatabaseUrl(keysMigrations);
    expect((await directly('keys list', { DATABASE_URL })).said).toContain('TESSERA_KEYS_KEK is missing.');
  });
});

const people = (status = '') => `tenants:
  - id: acme
    name: Acme
    users: [{username: ada, email: ada@acme.example, password: correct horse${status}}]
    applications: [{clientId: tv, name: TV, type: public, grantTypes: [device_code]${status}}]
`;

describe('tessera tenant, application and user', () => {
  const statuses = `SELECT t.status AS tenant, a.status AS application, u.status AS user FROM directory.tenant t
    JOIN directory.application a USING (tenant_id) JOIN directory.user_account u USING (tenant_id)`;
  const events = `SELECT event FROM directory.audit_event
    WHERE record -> 'actor' ->> 'type' = 'operator' AND event ~ 'suspended|disabled' ORDER BY recorded_at`;

  async function deployment() {
    const DATABASE_URL = await newDatabaseUrl(directoryMigrations);
    const environment = { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper };
    return {
      ask: (words: string) => directly(words, environment),
      apply: (state: string) => directly(`apply -f ${file(state)}`, environment),
      statuses: () => rows(DATABASE_URL, statuses),
      events: () => rows(DATABASE_URL, events),
    };
  }

  it('are disabled, and stay disabled after applying a file without a status', async () => {
    const { ask, apply, statuses, events } = await deployment();
    await apply(people());
    expect(await ask('user disable --tenant acme --username ADA@acme.example')).toEqual({
      code: 0,
      said: 'The user ada of the tenant acme is disabled.\n',
    });
    expect(await ask('application disable --client-id tv')).toEqual({
      code: 0,
      said: 'The application tv of the tenant acme is disabled.\n',
    });
    const tenant = { code: 0, said: 'The tenant acme is disabled.\n' };
    expect(await ask('tenant disable --tenant acme')).toEqual(tenant);
    expect(await ask('tenant disable --tenant acme')).toEqual(tenant);
    const disabled = { tenant: 'disabled', application: 'disabled', user: 'disabled' };
    expect(await statuses()).toEqual([disabled]);
    expect(await events()).toEqual(
      ['user.disabled', 'client.disabled', 'tenant.suspended'].map((event) => ({ event })),
    );
    await apply(people());
    expect(await statuses()).toEqual([disabled]);
    await apply(people(', status: active'));
    expect(await statuses()).toEqual([{ tenant: 'disabled', application: 'active', user: 'active' }]);
  });

  it('are enabled, including a locked person', async () => {
    const { ask, apply, statuses } = await deployment();
    await apply(people(', status: disabled').replace('status: disabled', 'status: locked'));
    await ask('tenant disable --tenant acme');
    expect(await ask('user enable --tenant acme --username ada')).toEqual({
      code: 1,
      said: 'The user ada of the tenant acme stays as it is. The user belongs to the owner "file". Change it there, or take it over (--take-over).\n',
    });
    expect(await ask('user enable --tenant acme --username ada --take-over')).toEqual({
      code: 0,
      said: 'The user ada of the tenant acme is active.\n',
    });
    await ask('application enable --client-id tv --take-over');
    await ask('tenant enable --tenant acme --take-over');
    expect(await statuses()).toEqual([{ tenant: 'active', application: 'active', user: 'active' }]);
  });

  it('are named in the error if they do not exist', async () => {
    const { ask, apply } = await deployment();
    await apply(people());
    for (const [words, sentence] of [
      ['tenant disable --tenant globex', 'There is no tenant globex.'],
      ['application enable --client-id phone', 'There is no application phone.'],
      ['user disable --tenant acme --username bob', 'There is no user bob in the tenant acme.'],
      ['user disable --tenant globex --username ada', 'There is no user ada in the tenant globex.'],
    ] as const)
      expect(await ask(words)).toEqual({ code: 1, said: `${sentence}\n` });
  });

  it('are disabled at a directory given in a file, without a database', async () => {
    const { TESSERA_PEERS = '', ...token } = await serving(await directory(), 'directory');
    const environment = { ...token, TESSERA_PEERS_FILE: file(TESSERA_PEERS, 'directory') };
    await tessera(`apply -f ${file(people())}`, environment);
    expect(await tessera('user disable --tenant acme --username ada', environment)).toEqual({
      code: 0,
      said: 'The user ada of the tenant acme is disabled.\n',
    });
  });

  it('of a file are disabled by the calls that change one record, which administrators of a tenant may make', async () => {
    const environment = await serving(await directory(), 'directory');
    await tessera(`apply -f ${file(people())}`, environment);
    for (const [words, record] of [
      ['user disable --tenant acme --username ada', 'user ada of the tenant acme'],
      ['application disable --tenant acme --client-id tv', 'application tv of the tenant acme'],
      ['tenant disable --tenant acme', 'tenant acme'],
    ] as const)
      expect(await tessera(words, environment)).toEqual({ code: 0, said: `The ${record} is disabled.\n` });
    expect(await tessera('application disable --tenant globex --client-id tv', environment)).toEqual({
      code: 1,
      said: 'There is no application tv in the tenant globex.\n',
    });
  });

  it('explain in their help what they invalidate and how declared state interacts', async () => {
    const { said } = await tessera('user disable --help', {});
    expect(said).toContain("It invalidates the person's sessions, codes, refresh tokens and decisions.");
    expect(said).toContain('if none is declared, it stays as it is');
  });
});

describe('tessera apply of a file that leaves out people or applications', () => {
  const whole = `${people()}  - { id: globex, name: Globex, roles: [clerk] }\n`;
  const without = whole.replace(/ {4}applications.*\n/, '').replace('Globex,', 'Globex AB,');
  const refusal =
    'Nothing was applied: the declared state leaves out records, and applying it would delete them:\nacme: application tv\n';

  it('lists them, changes nothing and exits with 3, unless it is given --allow-delete', async () => {
    const DATABASE_URL = await newDatabaseUrl(directoryMigrations);
    const environment = { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper };
    const apply = (state: string, options = '') =>
      directly(`apply${options} --file -`, environment, undefined, state);
    await apply(whole);
    expect(await apply(without)).toEqual({
      code: 3,
      said: expect.stringContaining(refusal) as string,
    });
    const state = `SELECT name FROM directory.application UNION ALL SELECT name FROM directory.tenant`;
    expect(await rows(DATABASE_URL, state)).toEqual(['TV', 'Acme', 'Globex'].map((name) => ({ name })));
    expect(await apply(without, ' --allow-delete')).toEqual({
      code: 0,
      said: 'acme: 0 created, 0 updated, 1 deleted\nglobex: 0 created, 1 updated, 0 deleted\n',
    });
  });

  it('explains this in its help', async () => {
    expect((await tessera('apply --help', {})).said).toMatch(/--allow-delete[^]*exits with code 3/);
  });
});

describe('tessera apply of several tenants', () => {
  const ids = ['acme', 'globex', 'initech'];
  const several = `tenants:\n${ids.map((id) => `  - { id: ${id}, name: ${id}, roles: [clerk] }\n`).join('')}`;

  /** A directory that refuses one tenant, and what it is asked to apply. */
  function refusing(built: BuiltService, tenantId: string) {
    const documents: string[] = [];
    const declaredState = local(DeclaredStateService, built, 'operator');
    const apply = async (request: ApplyDeclaredStateRequest) => {
      documents.push(request.document);
      if (request.tenantId === tenantId) throw new ConnectError('Not this one.', Code.FailedPrecondition);
      return declaredState.apply(request, rootCall('test'));
    };
    const routes = built.routes.map((route) =>
      route.service.typeName === DeclaredStateService.typeName
        ? { ...route, handlers: { ...route.handlers, apply } }
        : route,
    );
    return { documents, built: { ...built, routes } };
  }

  it('says of each that it is applied before the next one, and which one failed', async () => {
    const { documents, built } = refusing(await directory(), 'globex');
    const environment = await serving(built, 'directory');
    expect(await tessera(`apply -f ${file(several)}`, environment)).toEqual({
      code: 3,
      said:
        'acme: 2 created, 0 updated, 0 deleted\n' +
        'Not this one.\nFailed: globex. Applied before: acme. Not tried: initech.\n',
    });
    expect(documents.map((document) => document.match(/"id":"\w+"/g))).toEqual([
      ['"id":"acme"'],
      ['"id":"globex"'],
    ]);
    expect((await tessera('tenant list -o json', environment)).said).not.toMatch(/globex|initech/);
  });

  it('changes nothing before it has found every mistake, at its line', async () => {
    const environment = await serving(await directory(), 'directory');
    const mistaken = several.replace('name: initech', 'name: initech, colour: blue');
    const { code, said } = await tessera(`apply -f ${file(mistaken)}`, environment);
    expect([code, said]).toEqual([1, expect.stringMatching(/yaml:4:\d+: tenants\[2\]\S*colour/)]);
    expect((await tessera('tenant list -o json', environment)).said).toBe('[]\n');
    const giving = `${several}    users: [{ username: ada, roles: [tessera.auditor] }]\n`.replace(
      '{ id: initech, name: initech, roles: [clerk] }',
      'id: initech\n    name: initech',
    );
    expect((await tessera(`apply -f ${file(giving)}`, environment)).code).toBe(3);
    expect((await tessera('tenant list -o json', environment)).said).toBe('[]\n');
  });

  it('applies first the tenant that gives up what another one gets', async () => {
    const tv = "resources: [{ audience: 'https://tv.example', name: TV, scopes: [tv.watch] }]";
    const state = (ofAcme: string, ofGlobex: string) =>
      file(`tenants: [{ id: globex, name: Globex${ofGlobex} }, { id: acme, name: Acme${ofAcme} }]\n`);
    const environment = await serving(await directory(), 'directory');
    expect((await tessera(`apply -f ${state(`, ${tv}`, '')}`, environment)).code).toBe(0);
    expect(await tessera(`apply --allow-delete -f ${state('', `, ${tv}`)}`, environment)).toEqual({
      code: 0,
      said: 'acme: 0 created, 0 updated, 1 deleted\nglobex: 1 created, 0 updated, 0 deleted\n',
    });
  });
});

describe('tessera apply of a second file for a tenant', () => {
  const second = `
owner: orders
tenants:
  - id: acme
    applications: [{ clientId: orders-tv, name: Orders, type: public, grantTypes: [device_code] }]
`;

  it('leaves the records of the first; a conflict names the owner and exits with 3, a takeover moves them', async () => {
    const DATABASE_URL = await newDatabaseUrl(directoryMigrations);
    const environment = { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper };
    const apply = (state: string, options = '') =>
      directly(`apply${options} --file -`, environment, undefined, state);
    await apply(people());
    expect(await apply(second)).toEqual({ code: 0, said: 'acme: 1 created, 0 updated, 0 deleted\n' });
    expect(await apply(people())).toEqual({ code: 0, said: 'acme: 0 created, 0 updated, 0 deleted\n' });
    const renamed = people().replace('name: TV', 'name: Television');
    expect(await apply(renamed, ' --owner micro')).toMatchObject({
      code: 3,
      said: expect.stringContaining('application tv, of the owner "file"'),
    });
    expect(await apply(renamed, ' --owner micro --take-over')).toMatchObject({ code: 0 });
    const compared = `diff --file ${file(people())}`;
    expect(await directly(compared, environment)).toMatchObject({
      code: 3,
      said: expect.stringContaining('application tv, of the owner "micro"'),
    });
    expect((await directly(`${compared} --take-over`, environment)).code).toBe(1);
    expect(await apply(second, ' --owner API')).toMatchObject({ code: 1 });
  });
});

/** As a process with embedded stores serves administration. Resolves with the environment of its user. */
async function servingBeside(built: BuiltService): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), 'tessera-beside-'));
  onTestFinished(async () => rm(folder, { recursive: true }));
  const token = new Secret('a-token-that-is-in-the-file-alone');
  const prover = createProver(token, systemRandom);
  const credentials = { kind: 'token', token, of: 'operator', prover } as const;
  const server = await serveConnect(built, { host: '127.0.0.1', port: 0, credentials, log: silentLog() });
  onTestFinished(() => server.drain());
  const target = `127.0.0.1:${server.port}`;
  await announceAdministration(folder, { target, token, issuer: 'http://localhost:8080' });
  return { TESSERA_DATA_DIR: folder };
}

describe('where a command works', () => {
  it('is said once before a change and a comparison, and with the error of what reads', async () => {
    const peers = await serving(await directory(), 'directory');
    const beside = await servingBeside(await directory());
    const stored = {
      DATABASE_URL: await newDatabaseUrl(directoryMigrations),
      TESSERA_DIRECTORY_PEPPER: pepper,
    };
    for (const [environment, installation] of [
      [peers, 'the processes of TESSERA_PEERS'],
      [beside, `the process of ${beside['TESSERA_DATA_DIR']}`],
      [stored, 'the database of DATABASE_URL'],
    ] as const) {
      const option = environment === stored ? ' --direct' : '';
      const ask = (words: string) => printed(`${words}${option}`, environment, fetch);
      const where = `On ${installation}.\n`;
      expect(await ask('tenant create acme --name Acme')).toMatchObject({ code: 0, where });
      expect((await ask(`apply -f ${file(people())} --take-over`)).where).toBe(where);
      const { out, said, ...compared } = await ask(`diff -f ${file(people().replace('ada,', 'eve,'))}`);
      expect([compared, out]).toEqual([
        { code: 3, where },
        expect.stringMatching(/^acme: user eve would be/),
      ]);
      expect(out + said).not.toContain('On the ');
      for (const words of [
        'tenant update --tenant acme --name Acme --take-over --validate-only',
        'user invite bob --tenant acme --email bob@acme.example --validate-only',
        `import people ${file('[{ "username": "bob" }]', 'people.json')} --tenant acme --dry-run`,
      ])
        expect(await ask(words)).toMatchObject({ code: 0, where });
      expect((await ask('tenant list')).where).toBe('');
      expect(await ask('user get eve --tenant acme')).toMatchObject({
        code: 1,
        where,
        said: 'There is no user eve in the tenant acme.\n',
      });
    }
    expect((await printed('epoch bump', stored)).where).toBe('On the database of DATABASE_URL.\n');
  });
});

describe('tessera apply at a directory that was started with another pepper', () => {
  it('fails at once and says what to do, by gRPC and by the administration API', async () => {
    const database = await testDatabase(directoryMigrations);
    const secret = `secrets: [{ value: ${'s'.repeat(32)} }]`;
    const robot = `{ clientId: robot, name: Robot, type: confidential, grantTypes: [client_credentials], ${secret} }`;
    const state = `apply -f ${file(`tenants: [{ id: acme, name: Acme, applications: [${robot}] }]`)}`;
    const first = await serving(await directory(database), 'directory');
    expect((await tessera(state, first)).code).toBe(0);
    const wrong = await directory(database, Buffer.alloc(32, 9).toString('base64'));
    for (const environment of [await serving(wrong, 'directory'), await servingBeside(wrong)])
      expect(await tessera(state, environment, fetch)).toEqual({
        code: 1,
        said:
          'Applying cannot be done. TESSERA_DIRECTORY_PEPPER is not the pepper of the client secrets in this database: ' +
          'no client could authenticate. Start with the former one; to replace it, see "Rotate" in docs/operations.md.\n',
      });
  });
});

describe('tessera diff', () => {
  it('lists what apply would change, changes nothing and exits with 1, with 0 if nothing would change, or with 3 as apply would', async () => {
    const DATABASE_URL = await newDatabaseUrl(directoryMigrations);
    const environment = { DATABASE_URL, TESSERA_DIRECTORY_PEPPER: pepper };
    const diff = (state: string) => directly(`diff --file ${file(state)}`, environment);
    const created = ['tenant acme', 'user ada', 'application tv'].map(
      (record) => `acme: ${record} would be created\n`,
    );
    expect(await diff(people())).toEqual({ code: 1, said: created.join('') });
    expect(await rows(DATABASE_URL, 'SELECT tenant_id FROM directory.tenant')).toEqual([]);
    await directly(`apply -f ${file(people())}`, environment);
    expect(await diff(people())).toEqual({ code: 0, said: 'Nothing would change.\n' });
    const changed = people()
      .replace('correct horse', 'battery staple')
      .replace('clientId: tv', 'clientId: radio');
    const listed =
      'acme: user ada would be updated (password)\nacme: application radio would be created\nacme: application tv would be deleted\n';
    expect(await diff(changed)).toEqual({
      code: 3,
      said: `${listed}Applying it needs --allow-delete, for 1 deletion.\n`,
    });
    expect(await directly(`diff --allow-delete --file ${file(changed)}`, environment)).toEqual({
      code: 1,
      said: listed,
    });
  });

  it('exits with 2 if it fails', async () => {
    const environment = {
      DATABASE_URL: await newDatabaseUrl(directoryMigrations),
      TESSERA_DIRECTORY_PEPPER: pepper,
    };
    const { code, said } = await directly(`diff -f ${file(`${people()}    colour: blue\n`)}`, environment);
    expect([code, said]).toEqual([2, expect.stringMatching(/tessera\.yaml:6:\d+: .*colour/)]);
    expect((await directly('diff -f missing.yaml', environment)).code).toBe(2);
    expect(await tessera('diff -f missing.yaml', {})).toEqual({
      code: 2,
      said: expect.stringMatching(nobody) as string,
    });
    expect((await directly('diff', environment)).code).toBe(2);
  });

  it('reports a directory of an earlier version as unsupported, as the other commands do', async () => {
    const environment = await serving(earlier(await directory()), 'directory');
    expect((await tessera(`apply -f ${file(people())}`, environment)).code).toBe(0);
    expect(await tessera(`diff -f ${file(people())}`, environment)).toEqual({
      code: 2,
      said: 'Comparing cannot be done: the process that was asked is of a version that does not know how. Upgrade it first.\n',
    });
  });

  it('explains its exit codes in its help', async () => {
    expect((await tessera('diff --help', {})).said).toContain(
      'Exit code 0: nothing would change; 1: something would',
    );
  });
});

describe('tessera apply, diff and get of one tenant', () => {
  /** What the commands say, one after the other. */
  async function said(environment: Record<string, string>): Promise<unknown[]> {
    const wrong = `${people()}    colour: blue\n    size: 5\n    roles: [${'x, '.repeat(40)}y]\n`;
    const renamed = people().replace('name: Acme', 'name: Acme Ltd').replace('ada,', 'eve,');
    const auditing = people().replace('email: ada@acme.example', 'roles: [tessera.auditor]');
    const clashing = 'tenants: [{ id: acme, users: [{ username: eve, email: ada@acme.example }] }]';
    const answers: unknown[] = [];
    for (const [words, state] of [
      ['diff', people()],
      ['apply', people()],
      ['apply', people()],
      ['diff --allow-delete --impact', renamed],
      ['apply', renamed],
      ['apply --owner orders', people().replace('name: TV', 'name: Television')],
      ['apply --owner orders', clashing],
      ['diff --owner orders', clashing],
      ['apply --owner API', people()],
      ['apply', auditing],
      ['apply --allow-delete', renamed],
      ['apply', wrong],
    ] as const)
      answers.push(await tessera(`${words} -f ${file(state)}`, environment, fetch));
    for (const tenant of ['acme', 'nowhere'])
      answers.push(await tessera(`get --tenant ${tenant}`, environment, fetch));
    return JSON.parse(
      JSON.stringify(answers).replaceAll(/\/[^ :"]*tessera\.yaml/g, 'tessera.yaml'),
    ) as unknown[];
  }

  it('say the same by gRPC and by the administration API', async () => {
    const called = await said(await serving(await directory(), 'directory'));
    expect(called).toMatchObject([
      { code: 1 },
      { code: 0, said: 'acme: 3 created, 0 updated, 0 deleted\n' },
      { code: 0, said: 'acme: 0 created, 0 updated, 0 deleted\n' },
      { code: 1 },
      { code: 3, said: expect.stringContaining('would delete them:\nacme: user ada\n') as string },
      { code: 3, said: expect.stringContaining('of the owner "file"') as string },
      {
        code: 3,
        said: expect.stringContaining('yaml:1:31: tenants[0].users[0]: shares a user name') as string,
      },
      {
        code: 3,
        said: expect.stringContaining('yaml:1:31: tenants[0].users[0]: shares a user name') as string,
      },
      { code: 1 },
      { code: 3, said: expect.stringContaining('acme: user ada: tessera.auditor') as string },
      { code: 0 },
      { code: 1, said: expect.stringMatching(/colour[^]*size/) as string },
      { code: 0, said: expect.stringMatching(/^tenants:\n- id: acme\n {2}name: Acme Ltd\n/) as string },
      { code: 1, said: 'There is no tenant nowhere.\n' },
    ]);
    expect((called[11] as { said: string }).said.split('\n').length).toBeGreaterThan(20);
    const beside = await said(await servingBeside(await directory()));
    // Who calls processes one by one may lack the one that counts; beside this one there is none, either.
    const lacking = 'Sessions and refresh tokens are not counted: ';
    expect((called[3] as { said: string }).said).toContain(
      `${lacking}add token=host:port to TESSERA_PEERS.\n`,
    );
    const compared = (answers: unknown[]) =>
      JSON.stringify(answers).replaceAll(new RegExp(`${lacking}.*?\\.\\\\n`, 'g'), '');
    expect(compared(beside)).toBe(compared(called));
  });
});

describe('tessera get', () => {
  it('prints the declared state of all tenants or one, and applying it changes nothing', async () => {
    const environment = {
      DATABASE_URL: await newDatabaseUrl(directoryMigrations),
      TESSERA_DIRECTORY_PEPPER: pepper,
    };
    const get = (words = '') => directly(`get${words}`, environment);
    expect(await get()).toEqual({ code: 0, said: 'tenants: []\n' });
    await directly(`apply -f ${file(`${people()}  - {id: globex, name: Globex}\n`)}`, environment);
    const all = await get();
    expect(all.code).toBe(0);
    expect(all.said).toMatch(
      /^tenants:\n- id: acme\n {2}name: Acme\n[^]*\n- id: globex\n {2}name: Globex\n$/,
    );
    expect(all.said).not.toContain('argon2');
    expect((await directly(`diff -f ${file(all.said)}`, environment)).said).toBe('Nothing would change.\n');
    expect(await get(' --tenant globex')).toEqual({
      code: 0,
      said: 'tenants:\n- id: globex\n  name: Globex\n',
    });
    expect(await get(' --tenant nowhere')).toEqual({ code: 1, said: 'There is no tenant nowhere.\n' });
  });
});
