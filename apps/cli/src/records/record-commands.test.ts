import { migrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { loadConfig } from '@tessera/process';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { MailService } from '@tessera/proto-gen/admin-mail';
import type { BuiltService } from '@tessera/rpc';
import { methodName } from '@tessera/telemetry';
import { silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parse } from 'yaml';
import { file, pepper, printed as printedBy, serving, tessera } from '../testing/run-command.ts';
import { methodOf, nouns, settable, verbs } from './nouns.ts';
import { printed } from '../print-records.ts';

const state = `tenants:
  - id: acme
    name: Acme
    resources: [{ audience: orders, name: Orders, scopes: [{ name: orders.read }] }]
    users: [{ username: ada, email: ada@acme.example }]
`;

let environment: Record<string, string>;
let directory: BuiltService;
beforeEach(async () => {
  const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper });
  const runtime = testRuntime({ database: await testDatabase(migrations), log: silentLog() });
  directory = buildDirectory(config, {}, runtime);
  environment = await serving(directory, 'directory');
  const { code, said } = await tessera(`apply -f ${file(state)}`, environment);
  if (code !== 0) throw new Error(said);
});

/** Runs a command that succeeds. Resolves with what it prints as JSON. */
async function json(words: string, input = ''): Promise<unknown> {
  const { code, out, said } = await printedBy(`${words} -o json`, environment, undefined, input);
  expect(code, said).toBe(0);
  return JSON.parse(out);
}

const failed = async (words: string, input = '') => tessera(words, environment, undefined, input);

describe('the commands for records', () => {
  it('are there for every method of the directory that reads or changes one', () => {
    const named = nouns.flatMap((noun) => verbs.map((verb) => methodOf(noun, verb)));
    const standard = directory.routes
      .filter(({ service }) => service.typeName.startsWith('tessera.admin.v1.'))
      // Their commands are apply, diff and get, and mail, which has nothing to change.
      .filter(
        ({ service }) => ![DeclaredStateService.typeName, MailService.typeName].includes(service.typeName),
      )
      .flatMap(({ service }) => service.methods)
      .filter(({ localName }) => localName === 'undelete' || verbs.some((verb) => verb === localName));
    const names = (methods: typeof named) =>
      methods.flatMap((method) => (method ? [methodName(method)] : [])).toSorted();
    expect(standard.length).toBeGreaterThanOrEqual(26);
    expect(names(named)).toEqual(names(standard));
  });

  it('add, change, list and delete an application', async () => {
    const desk = '--tenant acme --client-id desk';
    const made = await json(
      `application create ${desk} --name Desk --type confidential --grant-types client_credentials --scopes orders.read`,
    );
    expect(made).toMatchObject({ clientId: 'desk', owner: 'api', grantTypes: ['client_credentials'] });
    const { etag } = made as { etag: string };
    const lifetimes = file('lifetimes: { accessToken: 60 }\nname: From the file', 'desk.yaml');
    expect(await json(`application update ${desk} -f ${lifetimes} --name Office`)).toMatchObject({
      name: 'Office',
      lifetimes: { accessToken: 60 },
      scopes: ['orders.read'],
    });
    expect(await failed(`application update ${desk} --name Stale --etag ${etag}`)).toMatchObject({ code: 1 });
    const cleared = await json(`application update ${desk} --clear lifetimes scopes`);
    expect(cleared).not.toHaveProperty('lifetimes');
    expect(cleared).not.toHaveProperty('scopes');
    const { said } = await tessera('application list --tenant acme', environment);
    expect(said).toBe(
      'CLIENT ID  NAME    TYPE          STATUS  GRANT TYPES         OWNER\n' +
        'desk       Office  confidential  active  client_credentials  api\n',
    );
    expect(await failed(`application delete ${desk}`)).toEqual({
      code: 0,
      said: 'The application is deleted.\n',
    });
    expect(await failed(`application get ${desk}`)).toMatchObject({
      code: 1,
      said: 'There is no application desk, or no such tenant.\n',
    });
  });

  it('take a password from a file or standard input alone, and never print it', async () => {
    const password = file('a long passphrase of eve\nsecond line', 'password');
    const eve = '--tenant acme --username eve';
    const create = `user create ${eve} --email eve@acme.example --email-verified yes --password-file ${password}`;
    const { out, said } = await printedBy(create, environment);
    expect(parse(out)).toMatchObject({ username: 'eve', emailVerified: true });
    expect(said).not.toContain('passphrase');
    await json(`user update ${eve} --password-file -`, 'another long passphrase\n');
    expect((await failed(`user update ${eve} --password-file -`, 'short\n')).said).toMatch(
      /^user\.password: /,
    );
    expect((await failed(`user update ${eve} --password-file -`, '')).said).toBe(
      'The file for --password-file has no first line.\n',
    );
    expect((await failed('user create --help')).said).not.toMatch(/--password <|--password-hash </);
  });

  it('name a person by what they are called or by their id, and keep the id through a change of name', async () => {
    const ada = (await json('user get --tenant acme --username ADA@acme.example')) as { userId: string };
    const update = `user update --tenant acme --user-id ${ada.userId} --new-username ada.l --take-over`;
    expect(await json(update)).toMatchObject({ userId: ada.userId, username: 'ada.l' });
    expect((await failed('user get --tenant acme --username ada')).said).toBe(
      'There is no user ada in the tenant acme.\n',
    );
    expect(await failed('user get --tenant acme')).toEqual({
      code: 2,
      said: 'Name the person: as the argument or by --username or --user-id.\n',
    });
  });

  it('name a record by the argument or by an option, once', async () => {
    const ada = await json('user get --tenant acme --username ada');
    expect(await json('user get ada --tenant acme')).toEqual(ada);
    expect(await json('tenant get acme')).toMatchObject({ tenantId: 'acme' });
    const once = 'as the argument or by --username or --user-id.\n';
    for (const also of ['--username ada', '--user-id usr_1'])
      expect(await failed(`user get ada --tenant acme ${also}`)).toEqual({
        code: 2,
        said: `Name the person once: ${once}`,
      });
    expect(await failed('application get --tenant acme')).toEqual({
      code: 2,
      said: 'Name the application: as the argument or by --client-id.\n',
    });
    expect((await failed('user disable ada --tenant acme')).code).toBe(0);
    expect(await json('user get ada --tenant acme')).toMatchObject({ status: 'disabled' });
  });

  it('bring back who was deleted, by the user name or, if several had it, by the id', async () => {
    const ada = (await json('user get --tenant acme --username ada')) as { userId: string };
    expect((await failed('user delete --tenant acme --username ada --take-over')).code).toBe(0);
    const { said } = await failed('user list --tenant acme --deleted');
    expect(said).toMatch(/^USERNAME .* DELETE TIME\nada .*usr_\S+ {2}\d{4}-\S+Z\n$/);
    const create = 'user create --tenant acme --username Ada';
    expect(await failed(create)).toMatchObject({
      code: 1,
      said: expect.stringMatching(/^A person with this user name was deleted within the last 30 days\./),
    });
    await json(`${create} --new-person`);
    expect((await failed('user restore --tenant acme --username ada')).said).toMatch(/^user\.username: /);
    await failed('user delete --tenant acme --username ada');
    const several = await failed('user restore --tenant acme --username ADA');
    expect(several.said).toMatch(
      /^Several people of that name were deleted\..*\n(usr_\S+, deleted \S+Z\n){2}$/,
    );
    expect(await json(`user restore --tenant acme --user-id ${ada.userId}`)).toMatchObject({
      userId: ada.userId,
      owner: 'file',
    });
    expect((await failed('user restore --tenant acme --username nobody')).said).toBe(
      'No user nobody of the tenant acme was deleted within the last 30 days.\n',
    );
    expect((await failed('application restore --tenant acme --client-id nothing')).said).toBe(
      'No application nothing was deleted within the last 30 days, or there is no such tenant.\n',
    );
    expect((await failed('role restore --tenant acme --name clerk')).code).toBe(2);
  });

  it('say that a file makes a new person of a deleted one', async () => {
    await failed('user delete --tenant acme --username ada --take-over');
    const news = 'a new person with a new `sub`; the deleted one of that name can be restored\n';
    expect((await failed(`diff -f ${file(state)}`)).said).toBe(`acme: user ada would be ${news}`);
    expect((await failed(`apply -f ${file(state)}`)).said).toBe(
      `acme: 1 created, 0 updated, 0 deleted\nacme: user ada is ${news}`,
    );
  });

  it('list people by role, status, provider, last sign-in and invitation', async () => {
    await json('role create --tenant acme --name clerk');
    await json('user create --tenant acme --username bea --name Béa --roles clerk --status locked');
    await json('user create --tenant acme --username cleo --roles clerk');
    const listed = async (conditions: string) =>
      ((await json(`user list --tenant acme ${conditions}`)) as { username: string }[])
        .map(({ username }) => username)
        .toSorted();
    expect(await listed('--role clerk')).toEqual(['bea', 'cleo']);
    expect(await listed('--role clerk --status locked')).toEqual(['bea']);
    expect(await listed('--search BEA --never-signed-in')).toEqual(['bea']);
    expect(await listed('--provider corp')).toEqual([]);
    expect(await listed('--invited')).toEqual([]);
    expect(await listed('--not-signed-in-since 90d')).toEqual([]);
    expect(await listed('--not-signed-in-since 2126-01-31')).toEqual(['ada', 'bea', 'cleo']);
    for (const [conditions, said] of [
      ['--not-signed-in-since soon', '--not-signed-in-since soon is no time'],
      ['--deleted --role clerk --invited', '--deleted takes no --role, --invited.'],
      ['--status gone', 'active, disabled, locked'],
    ] as const)
      expect(await failed(`user list --tenant acme ${conditions}`)).toEqual({
        code: 2,
        said: expect.stringContaining(said) as string,
      });
    expect((await failed('role list --help')).said).not.toContain('--role');
  });

  it('have shells complete the names of what is there', async () => {
    const log = vi.spyOn(console, 'log').mockReturnValue(undefined);
    onTestFinished(() => log.mockRestore());
    let more: Record<string, string> = {};
    const completed = async (...typed: string[]) => {
      log.mockClear();
      expect(await tessera(`complete -- ${typed.join(' ')}`, { ...environment, ...more })).toMatchObject({
        code: 0,
        said: '',
      });
      return log.mock.calls
        .flat()
        .map(String)
        .filter((line) => !line.startsWith(':'));
    };
    expect(await completed('user', 'show', '--tenant', 'ac')).toEqual(['acme\t']);
    expect(await completed('user', 'show', '--tenant', 'acme', 'ad')).toEqual([
      'ada\t',
      'ada@acme.example\t',
    ]);
    expect(await completed('user', 'get', '--tenant', 'acme', '--username', 'ad')).toHaveLength(2);
    expect(await completed('resource', 'get', '--tenant', 'acme', 'or')).toEqual(['orders\t']);
    expect(await completed('user', 'show', '--tenant', 'nowhere', 'ad')).toEqual([]);
    expect(await completed('user', 'show', 'ad')).toEqual([]);
    more = { TESSERA_TENANT: 'acme' };
    expect(await completed('user', 'show', 'ad')).toEqual(['ada\t', 'ada@acme.example\t']);
    more = {};
    // Bash runs commands in words that it completes, and dashes begin options.
    for (const name of ['evil`id`', 'evil$(id)', '-evil', 'evil;id', "evil'id"])
      await json(`user create --tenant acme --username ${name}`);
    await json('user create --tenant acme --username evil-twin');
    expect(await completed('user', 'show', '--tenant', 'acme', 'evil')).toEqual(['evil-twin\t']);
    expect(await completed('user', 'show', '--tenant', 'acme', '--ten')).toContainEqual(
      expect.stringContaining('--tenant'),
    );
  });

  it('delete a tenant with what is in it, if its identifier is given again', async () => {
    const all = 'tenant delete acme --take-over --everything-in';
    expect(await failed(`${all} globex`)).toEqual({
      code: 2,
      said: '--everything-in names globex, and not the tenant acme.\n',
    });
    const counted = 'The tenant acme has: people 1, API resources 1.\n';
    expect(await failed(`${all} acme --validate-only`)).toEqual({
      code: 0,
      said: `${counted}Nothing was changed.\n`,
    });
    expect(await failed('tenant delete acme --everything-in acme')).toMatchObject({
      code: 1,
      said: expect.stringContaining('belongs to the owner "file"') as string,
    });
    expect((await failed('tenant delete acme --take-over')).said).toContain('--everything-in acme');
    expect(await failed(`${all} acme`)).toEqual({
      code: 0,
      said: `${counted}The tenant acme is deleted.\n`,
    });
    expect(await failed(`${all} acme`)).toEqual({ code: 1, said: 'There is no tenant acme.\n' });
  });

  it('show in a diff for whom it ends what was issued', async () => {
    const users = Array.from({ length: 102 }, (_, at) => `{ username: u${String(at).padStart(3, '0')} }`);
    const many = (status: string) =>
      file(
        `owner: many\ntenants: [{ id: many, name: Many, status: ${status}, users: [${users.join(', ')}] }]`,
      );
    await failed(`apply -f ${many('active')}`);
    const { code, said } = await failed(`diff --impact -f ${many('disabled')}`);
    expect([code, said]).toEqual([
      1,
      expect.stringMatching(
        /^many: tenant many would be updated \(status\)\nSessions and refresh tokens are not counted: add token=host:port to TESSERA_PEERS\.\nmany: ends what was issued to 102 people: u000, .*u099, and 2 more\n$/,
      ),
    ]);
    const without = file(state.replace(/ {4}users.*\n/, ''));
    expect((await failed(`diff --impact -f ${without}`)).said).toContain(
      'acme: ends what was issued to 1 person: ada\n',
    );
    expect((await failed(`diff --impact -f ${file(state)}`)).said).toBe('Nothing would change.\n');
  });

  it('change no record of another owner, unless it is taken over', async () => {
    const update = 'user update --tenant acme --username ada --name Ada';
    expect(await failed(update)).toEqual({
      code: 1,
      said: 'The user belongs to the owner "file". Change it there, or take it over.\n',
    });
    expect(await json(`${update} --take-over`)).toMatchObject({ name: 'Ada', owner: 'api' });
  });

  it('change nothing with --validate-only', async () => {
    const { code, said } = await failed(
      'user delete --tenant acme --username ada --take-over --validate-only',
    );
    expect([code, said]).toEqual([0, 'Nothing was changed.\n']);
    expect((await failed('role create --tenant acme --name clerk --validate-only')).said).toMatch(
      /Nothing was changed\.\n$/,
    );
    expect(await json('role list --tenant acme')).toEqual([]);
    expect(await json('user list --tenant acme')).toHaveLength(1);
  });

  it('add a secret, print it once, and end it', async () => {
    const desk = '--tenant acme --client-id desk';
    await json(`application create ${desk} --name Desk --type confidential --grant-types client_credentials`);
    const { code, said } = await failed(`secret create ${desk} --expires 2999-01-31T12:00:00Z`);
    expect([code, said]).toEqual([0, expect.stringMatching(/it is not shown again\.\n[\w-]{43}\n$/)]);
    const [line = ''] = (await failed('secret list --client-id desk')).said.split('\n');
    const secretId = line.split(':')[0] ?? '';
    expect(line).toContain('expires 2999-01-31T12:00:00Z');
    expect(said).toContain(`The secret ${secretId} of desk`);
    expect((await failed(`secret create ${desk} --expires tomorrow`)).code).toBe(2);
    expect((await failed(`secret create --tenant acme --client-id tv`)).said).toBe(
      'There is no application tv in the tenant acme.\n',
    );
    expect(await failed(`secret delete ${desk} --secret-id=${secretId}`)).toEqual({
      code: 0,
      said: `The secret ${secretId} of desk is deleted.\n`,
    });
    expect((await failed('secret list --client-id desk')).said).toBe('desk has no secrets.\n');
    expect((await failed(`secret delete ${desk} --secret-id=${secretId}`)).code).toBe(1);
  });

  it('list page after page, as many as are asked for', async () => {
    const users = Array.from({ length: 1005 }, (_, at) => `{ username: p${String(at).padStart(4, '0')} }`);
    const many = file(`owner: many\ntenants: [{ id: acme, name: Acme, users: [${users.join(', ')}] }]\n`);
    expect((await tessera(`apply --take-over -f ${many}`, environment)).code).toBe(0);
    expect(await json('user list --tenant acme --search p')).toHaveLength(1005);
    expect(await json('user list --tenant acme --search p --limit 1001')).toHaveLength(1001);
    expect(await json('user list --tenant acme --search p100')).toHaveLength(5);
  });

  it('say which field is wrong', async () => {
    const role = 'user create --tenant acme --username bob --roles clerk';
    expect((await failed(role)).said).toBe('user.roles[0]: is not a role of the tenant\n');
    const create = 'user create --tenant acme -f -';
    expect((await failed(create, 'roles: clerk')).said).toMatch(/^The user is not understood: .*roles/);
    expect((await failed(create, 'colour: blue')).said).toMatch(/^The user is not understood: .*colour/);
    expect((await failed(create, '- clerk')).said).toBe(
      '- has no record: write its fields, such as name: Ada.\n',
    );
    expect((await failed(create, 'password: "secret')).said).toMatch(/^- is neither YAML nor JSON\./);
    expect((await failed(create, 'password: "secret')).said).not.toContain('"secret');
    expect((await failed('user update --tenant acme --username ada --clear colour')).code).toBe(2);
    expect((await failed('user update --tenant acme --username ada')).said).toBe(
      'Nothing to change: give fields, --clear or --file.\n',
    );
    expect(await failed('user list --tenant nowhere')).toEqual({
      code: 1,
      said: 'The tenant is not known.\n',
    });
  });

  it('take the fields of every kind from its message', () => {
    const names = Object.fromEntries(
      nouns.map((noun) => [noun.name, settable(noun).map(({ localName }) => localName)]),
    );
    expect(names).toMatchObject({
      tenant: [
        'name',
        'status',
        'issuer',
        'authenticationPolicy',
        'looks',
        'passkeyDomain',
        'registration',
        'registrationDomains',
        'accountClosing',
        'signInMethods',
        'endpoints',
      ],
      role: [],
      resource: [
        'name',
        'shared',
        'scopes',
        'tokenType',
        'scopeFormat',
        'signingAlgorithm',
        'roles',
        'assignableBy',
      ],
    });
  });
});

describe('a table', () => {
  it('has one line per record, whatever is in a name', async () => {
    const name = 'Ada\n\u001b[31mEVE\u202e';
    expect(await printed([{ name }], 'table', ['name'])).toBe('NAME\nAda\ufffd\ufffd[31mEVE\ufffd\n');
    expect(await printed([], 'table', ['clientId'])).toBe('CLIENT ID\n');
  });
});
