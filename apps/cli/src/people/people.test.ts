import { migrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { loadConfig } from '@tessera/process';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { local, rootCall, type BuiltService } from '@tessera/rpc';
import { silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { beforeEach, describe, expect, it } from 'vitest';
import { file, pepper, printed, serving, tessera } from '../testing/run-command.ts';

const state = `tenants:
  - { id: acme, name: Acme, roles: [clerk, manager], users: [{ username: ada, password: a password of ada, email: ada@acme.example }] }
`;
const password = 'a passphrase of their own';

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

const run = async (words: string, input = '') => tessera(words, environment, undefined, input);
const invite = async (csv: string, options = '-o json') =>
  run(`user invite --tenant acme -f - ${options}`, csv);

interface Printed {
  readonly username: string;
  readonly userId: string;
  readonly link: string;
  readonly expireTime: string;
}

/** The records of an output that ends with a sentence. */
const records = (said: string) => JSON.parse(said.slice(0, said.lastIndexOf(']') + 1)) as Printed[];

/** Opens a link and chooses a password, as the page does. */
async function redeem(link: string): Promise<string> {
  const gateway = local(DirectoryService, directory, 'gateway', silentLog());
  const value = new URL(link).searchParams.get('link') ?? '';
  const request = { link: value, password, ipAddress: '192.0.2.1' };
  return (await gateway.redeemPasswordLink(request, rootCall('a-request', 30_000))).passwordProblem;
}

async function signsIn(identifier: string): Promise<boolean> {
  const authorize = local(DirectoryService, directory, 'authorize', silentLog());
  const attempt = { tenantId: 'acme', identifier, password, ipAddress: '192.0.2.1' };
  return (await authorize.verifyPassword(attempt, rootCall('a-request', 30_000))).user !== undefined;
}

describe('tessera user invite', () => {
  it('adds nobody where no mail is sent, and says so alone', async () => {
    const csv = 'username,email\neve,eve@acme.example\nada,\n';
    const { code, said } = await invite(csv, '--mail');
    expect([code, said.trimEnd().split('\n')]).toEqual([
      1,
      [
        '-:2: No mail is sent here. Set TESSERA_SMTP_URL.',
        '-:3: The user has a password. Create a link with the purpose reset.',
        'Nothing was changed.',
      ],
    ]);
    expect((await run('user get --tenant acme --username eve')).code).not.toBe(0);
    expect((await invite(csv.replace('ada,\n', ''), '--mail --validate-only')).code).toBe(1);
  });

  it('creates the people of a file and prints a link for each, with which they set their passwords', async () => {
    const csv =
      'username,email,roles,emailVerified\r\neve,eve@acme.example,clerk; manager,yes\r\n"bob, the",,,\r\n';
    const { code, said } = await invite(csv);
    expect(code).toBe(0);
    const [eve, bob] = records(said);
    expect(eve).toMatchObject({
      username: 'eve',
      email: 'eve@acme.example',
      userId: expect.stringMatching(/^usr_/),
    });
    expect(eve?.link).toMatch(/^http:\/\/localhost:8080\/password\/link\?link=tl_[\w-]{43}$/);
    expect(Date.parse(eve?.expireTime ?? '') - Date.now()).toBeGreaterThan(6.9 * 86_400_000);
    const shown = await run('user get --tenant acme --username eve -o json');
    expect(JSON.parse(shown.said)).toMatchObject({
      roles: ['clerk', 'manager'],
      emailVerified: true,
      owner: 'api',
    });
    expect(await signsIn('eve')).toBe(false);
    expect([await redeem(eve?.link ?? ''), await redeem(bob?.link ?? '')]).toEqual(['', '']);
    expect([await signsIn('eve@acme.example'), await signsIn('bob, the')]).toEqual([true, true]);
  });

  it('invites one person as it does those of a file', async () => {
    const { code, said } = await run('user invite eve@acme.example --tenant acme --name Eve -o json');
    const [eve] = records(said);
    expect([code, eve?.username]).toEqual([0, 'eve@acme.example']);
    expect(await redeem(eve?.link ?? '')).toBe('');
    expect(await signsIn('eve@acme.example')).toBe(true);
    const bob = 'user invite bob --tenant acme --email bob@acme.example --role clerk manager';
    const where = 'On the processes of TESSERA_PEERS.\n';
    expect(await printed(bob, environment)).toMatchObject({ code: 0, where });
    const shown = await run('user get --tenant acme --username bob -o json');
    expect(JSON.parse(shown.said)).toMatchObject({
      email: 'bob@acme.example',
      roles: ['clerk', 'manager'],
      owner: 'api',
    });
    expect(await run('user invite zoe@acme.example --tenant acme --role boss')).toEqual({
      code: 1,
      said: 'zoe@acme.example: user.roles[0]: is not a role of the tenant\nNothing was changed.\n',
    });
    expect(await run('user invite ada --tenant acme --mail')).toMatchObject({
      code: 1,
      said: expect.stringMatching(/^ada: /) as string,
    });
  });

  it.each([
    ['', 'Name whom to invite: one person as the argument, or several by --file.\n'],
    [' eve -f -', 'Name whom to invite: one person as the argument, or several by --file.\n'],
    [' -f - --email eve@acme.example --role clerk', 'The file says this of each person: --email, --role.\n'],
  ])('takes either one person or a file: user invite%s', async (words, said) => {
    expect(await run(`user invite --tenant acme${words}`)).toEqual({ code: 2, said });
  });

  it('prints links to the port of the server that it is told of', async () => {
    environment = { ...environment, TESSERA_HTTP_PORT: '9137' };
    const [eve] = records((await invite('username\neve\n')).said);
    expect(eve?.link).toMatch(/^http:\/\/localhost:9137\/password\/link\?link=tl_/);
    environment = { ...environment, TESSERA_ISSUER: 'https://id.example' };
    expect(records((await invite('username\nbob\n')).said)[0]?.link).toMatch(/^https:\/\/id\.example\//);
  });

  it('prints a table, YAML or CSV, at the issuer that is given', async () => {
    const issuer = '--issuer https://id.example';
    const table = await invite('username\neve\n', issuer);
    expect(table.said).toMatch(
      /^USERNAME +EMAIL +LINK +EXPIRE TIME\neve +- +https:\/\/id\.example\/password\/link\?link=tl_/,
    );
    expect((await invite('username\neve\n', `${issuer} -o yaml`)).said).toMatch(/^- username: eve\n/);
    const { said } = await invite('username,email\n"bob, the",b@acme.example\n', `${issuer} -o csv`);
    expect(said).toMatch(
      /^username,email,link,expireTime\r\n"bob, the",b@acme\.example,https:\/\/id\.example\/password\/link\?link=tl_[\w-]{43},20[\dT:.-]+Z\r\n/,
    );
    expect((await invite('username\nzoe\n', '--issuer nothing')).code).toBe(2);
  });

  it('gives a new link to those who have no password yet, and the old one ends', async () => {
    const [first] = records((await invite('username\neve\n')).said);
    const [again] = records((await invite('username,email\nEVE,\n')).said);
    expect(again?.userId).toBe(first?.userId);
    await expect(redeem(first?.link ?? '')).rejects.toThrow('not known');
    expect(await redeem(again?.link ?? '')).toBe('');
  });

  it('says of every line what is wrong, and then changes nothing', async () => {
    const csv = 'username,email,roles\nada,,\neve,ada@acme.example,\nbob,nobody,boss\nzoe,,\n';
    const { code, said } = await invite(csv);
    expect(code).toBe(1);
    expect(said.split('\n')).toEqual([
      '-:2: The user has a password. Create a link with the purpose reset.',
      '-:3: user.email: belongs to another user of the tenant',
      expect.stringMatching(/^-:4: user\.email: /),
      'Nothing was changed.',
      '',
    ]);
    expect((await run('user get --tenant acme --username zoe')).code).toBe(1);
    const validated = await invite('username\nzoe\n', '--validate-only');
    expect(validated).toEqual({ code: 0, said: '1 person can be invited. Nothing was changed.\n' });
    expect((await run('user get --tenant acme --username zoe')).code).toBe(1);
    expect(await run('user invite --tenant nowhere -f -', 'username\nzoe\n')).toEqual({
      code: 1,
      said: 'The tenant is not known.\n',
    });
  });

  it.each([
    ['', '- lists nobody: write a line of field names, then one for each person.'],
    ['username\n', '- lists nobody: write a line of field names, then one for each person.'],
    ['name\nEve\n', '-:1: username: is required'],
    ['username,password\neve,secret\n', '-:1: password: the people set their passwords themselves'],
    ['username,colour\neve,blue\n', '-:1: colour: is no field that a file of people can have'],
    ['username,username\neve,eve\n', '-:1: username: is there twice'],
    ['username\neve\nEVE\n', '-:3: EVE is there twice'],
    ['username,name\n,Eve\n', '-:2: username is required'],
    ['username,emailVerified\neve,perhaps\n', '-:2: emailVerified must be yes or no'],
  ])('refuses the file %j', async (csv, problem) => {
    expect(await invite(csv)).toEqual({ code: 1, said: `${problem}\n` });
  });

  it('refuses a file that is not CSV', async () => {
    const { code, said } = await invite('username,name\neve\n');
    expect([code, said]).toEqual([1, expect.stringMatching(/^- is not CSV: .*line 2/)]);
  });
});

describe('tessera user reset-factors', () => {
  it('says what it removes, what there is not, and whom it does not find', async () => {
    const none = { code: 0, said: 'ada has no second factor. Nothing has changed.\n' };
    expect(await run('user reset-factors --tenant acme --username ada')).toEqual(none);
    expect(await run('user reset-factors --tenant acme --username ada --validate-only')).toEqual(none);
    const unknown = { code: 1, said: 'There is no user eve in the tenant acme.\n' };
    expect(await run('user reset-factors --tenant acme --username eve')).toEqual(unknown);
    expect((await run('user reset-factors --tenant acme')).code).toBe(2);
  });
});

describe('tessera user lockdown', () => {
  it('says what it would end, what has ended, and how the person comes back', async () => {
    const ada = 'ada --tenant acme';
    const would = await run(`user lockdown ${ada} --validate-only`);
    expect([would.code, would.said]).toEqual([
      0,
      expect.stringMatching(/ends all sign-ins of ada and removes the password\.\n$/),
    ]);
    expect(await run(`user lockdown ${ada}`)).toEqual({
      code: 0,
      said: [
        'acme: ends what was issued to 1 person: ada',
        'ada is locked down: all sign-ins have ended.',
        'Removed: the password.',
        'To let them back in, make a link: tessera user reset-link.',
        '',
      ].join('\n'),
    });
    expect((await run(`user lockdown ${ada}`)).said).not.toContain('Removed');
    const reset = await run(`user reset-link ${ada} -o json`);
    const { link } = JSON.parse(reset.said.slice(0, reset.said.lastIndexOf('}') + 1)) as Printed;
    expect(await redeem(link)).toBe('');
    expect(await signsIn('ada')).toBe(true);
    expect((await run('user lockdown --tenant acme --username nobody')).code).toBe(1);
    expect((await run('user lockdown --tenant acme')).code).toBe(2);
  });
});

describe('tessera user unlock', () => {
  it('ends the lock of a person, and says who is unknown', async () => {
    const { code, said } = await run('user unlock --tenant acme --username ADA@acme.example');
    expect([code, said]).toEqual([0, expect.stringContaining('ADA@acme.example can try to sign in again')]);
    expect((await run('user unlock --tenant acme --username nobody')).code).toBe(1);
    expect((await run('user unlock --tenant acme')).code).toBe(2);
  });
});

describe('tessera user reset-link', () => {
  it('prints a link with which a person sets a new password', async () => {
    const { code, said } = await run('user reset-link --tenant acme --username ADA@acme.example -o json');
    expect(code).toBe(0);
    const { link, userId } = JSON.parse(said.slice(0, said.lastIndexOf('}') + 1)) as Printed;
    expect(await redeem(link)).toBe('');
    expect(await signsIn('ada')).toBe(true);
    const byId = await run(`user reset-link --tenant acme --user-id ${userId}`);
    expect(byId.said).toMatch(/^userId: usr_.*\nlink: http.*\nexpireTime: /);
  });

  it('names whom it does not find', async () => {
    expect(await run('user reset-link --tenant acme --username eve')).toEqual({
      code: 1,
      said: 'There is no user eve in the tenant acme.\n',
    });
    expect((await run('user reset-link --tenant acme')).code).toBe(2);
  });
});
