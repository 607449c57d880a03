import { expect, it } from 'vitest';
import { migrations as directoryMigrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { loadConfig } from '@tessera/process';
import {
  DeclaredStateService,
  type ApplyDeclaredStateRequest,
  type DiffDeclaredStateRequest,
} from '@tessera/proto-gen/admin-declared_state';
import { Code, ConnectError, local, rootCall, type BuiltService } from '@tessera/rpc';
import { silentLog, testDatabase, testRuntime } from '@tessera/test-kit';
import { file, pepper, serving, tessera } from '../testing/run-command.ts';

const state = `tenants:
  - id: acme
    name: Acme
    roles: [clerk]
    users: [{ username: eve, email: eve@acme.example }]
`;
const words = 'import people - --format json --tenant acme --owner ours';
/** With parts of 250 people, three calls. */
const everybody = numbered(600);

interface Given {
  readonly username: string;
  readonly [key: string]: unknown;
}

function numbered(count: number): Given[] {
  return Array.from({ length: count }, (_, at) => {
    const username = `p${String(at).padStart(4, '0')}`;
    return { username, email: `${username}@acme.example`, roles: ['clerk'] };
  });
}

/** The same people, some of them changed or, if undefined, gone. */
function changed(changes: Readonly<Record<string, object | undefined>>): Given[] {
  return everybody.flatMap((person) => {
    if (!(person.username in changes)) return [person];
    const change = changes[person.username];
    return change === undefined ? [] : [{ ...person, ...change }];
  });
}

/** A directory whose processes are called, and what its calls with documents do. */
async function deployment() {
  const config = loadConfig(directoryProcessConfig, { TESSERA_DIRECTORY_PEPPER: pepper });
  const database = await testDatabase(directoryMigrations);
  const built = buildDirectory(config, {}, testRuntime({ database, log: silentLog() }));
  const declared = local(DeclaredStateService, built, 'operator');
  const calls = { applied: 0, largest: 0, before: async (_count: number): Promise<void> => undefined };
  const noted = ({ document }: Pick<ApplyDeclaredStateRequest, 'document'>) => {
    calls.largest = Math.max(calls.largest, Buffer.byteLength(document));
  };
  const handlers = {
    async apply(request: ApplyDeclaredStateRequest) {
      noted(request);
      await calls.before((calls.applied += 1));
      return declared.apply(request, rootCall('test'));
    },
    async diff(request: DiffDeclaredStateRequest) {
      noted(request);
      return declared.diff(request, rootCall('test'));
    },
  };
  const routes = built.routes.map((route) =>
    route.service.typeName === DeclaredStateService.typeName
      ? { ...route, handlers: { ...route.handlers, ...handlers } }
      : route,
  );
  const served: BuiltService = { ...built, routes };
  const environment = await serving(served, 'directory');
  await tessera(`apply --file ${file(state)}`, environment);
  return {
    calls,
    declared,
    /** Imports people. `before` is called with the number of each part that is applied. */
    async run(
      people: readonly object[],
      options = '',
      before: (count: number) => Promise<void> = async () => undefined,
    ) {
      Object.assign(calls, { applied: 0, largest: 0, before });
      return tessera(`${words}${options}`, environment, undefined, JSON.stringify(people));
    },
    /** By user name, with the version of the row. */
    async people() {
      const { rows } = await database.query<{
        username: string;
        owner: string;
        email: string;
        id: string;
        version: string;
      }>({
        name: 'test.imported_people',
        text: `SELECT username, owner, email, user_id AS id, xmin::text AS version
                 FROM directory.user_account WHERE tenant_id = 'acme' ORDER BY username`,
      });
      return rows;
    },
  };
}

/** What an import that left nothing out says at its end. */
const listsOf = (people: number, arrived = 'Arrived') =>
  `${arrived}: ${people} people\nTo do by you: 0\nLeft out: 0\n`;

const stopAt = (part: number) => async (count: number) => {
  if (count === part) throw new ConnectError('It was stopped.', Code.PermissionDenied);
};

it('people come in parts, of which each is far from the largest message; again, nothing changes', async () => {
  const { run, people, calls } = await deployment();
  const dryRun = await run(everybody, ' --dry-run');
  expect([dryRun.code, calls.applied]).toEqual([0, 0]);
  const created = everybody.map(({ username }) => `acme: user ${username} would be created\n`);
  expect(dryRun.said).toBe(created.join('') + listsOf(600, 'Would arrive'));
  expect(await people()).toHaveLength(1);

  const first = await run(everybody);
  expect(first).toEqual({ code: 0, said: `acme: 600 created, 0 updated, 0 deleted\n${listsOf(600)}` });
  expect(calls.applied).toBe(3);
  const present = await people();
  expect(present).toHaveLength(601);
  const again = await run(everybody);
  expect(again).toEqual({ code: 0, said: `acme: 0 created, 0 updated, 0 deleted\n${listsOf(600)}` });
  expect(await people()).toEqual(present);
  expect((await run(everybody, ' --dry-run')).said).toBe(
    `Nothing would change.\n${listsOf(600, 'Would arrive')}`,
  );
});

it('more than a message may carry is imported', async () => {
  const { run, calls } = await deployment();
  const notes = Object.fromEntries(['a', 'b', 'c', 'd'].map((name) => [name, 'x'.repeat(1000)]));
  const people = numbered(1100).map((person) => ({ ...person, attributes: notes }));
  expect(Buffer.byteLength(JSON.stringify(people))).toBeGreaterThan(4 * 1024 * 1024);
  expect((await run(people)).said).toBe(`acme: 1100 created, 0 updated, 0 deleted\n${listsOf(1100)}`);
  expect(calls.largest).toBeLessThan(512 * 1024);
});

it('an import that ends at a third and at two thirds goes on, and ends as one that does not', async () => {
  const { run, people } = await deployment();
  const whole = await deployment();
  await whole.run(everybody);
  const { code, said } = await run(everybody, '', stopAt(2));
  const sentence = 'people were imported, and stay; the same import goes on behind them. It was stopped.\n';
  const stopped = listsOf(600, 'To arrive in all');
  expect([code, said]).toEqual([1, `${stopped}250 of 600 ${sentence}`]);
  const first = await people();
  expect(first).toHaveLength(251);
  expect((await run(everybody, '', stopAt(3))).said).toBe(`${stopped}500 of 600 ${sentence}`);
  const last = await run(everybody);
  expect(last).toEqual({ code: 0, said: `acme: 100 created, 0 updated, 0 deleted\n${listsOf(600)}` });
  expect((await run(everybody)).said).toBe(`acme: 0 created, 0 updated, 0 deleted\n${listsOf(600)}`);
  const present = await people();
  const imported = new Set(first.map(({ id }) => id));
  expect(present.filter(({ id }) => imported.has(id))).toEqual(first);
  const content = ({ username, owner, email }: (typeof present)[number]) => [username, owner, email];
  expect(present.map(content)).toEqual((await whole.people()).map(content));
});

it('who is gone is deleted only if that is allowed, and by no import that ended early', async () => {
  const { run, people } = await deployment();
  await run(everybody);
  const before = await people();
  const fewer = changed({ p0003: undefined, p0599: undefined, p0001: { name: 'One' } });
  const refused = await run(fewer);
  expect([refused.code, refused.said.split('\n').slice(0, 2).toSorted()]).toEqual([
    3,
    ['acme: user p0003 would be deleted', 'acme: user p0599 would be deleted'],
  ]);
  expect(refused.said).toContain('\nNothing was applied. Declare these records');
  expect(await run(fewer, ' --dry-run')).toMatchObject({
    code: 3,
    said: expect.stringContaining('The import needs --allow-delete.') as string,
  });
  expect(await people()).toEqual(before);

  expect((await run(fewer, ' --allow-delete', stopAt(3))).code).toBe(1);
  expect(await people()).toHaveLength(601);
  expect(await run(fewer, ' --allow-delete')).toEqual({
    code: 0,
    said: `acme: 0 created, 0 updated, 2 deleted\n${listsOf(598)}`,
  });
  const names = (await people()).map(({ username }) => username);
  expect(names).toEqual(['eve', ...fewer.map(({ username }) => username)]);
});

it('a person of another owner in whichever part keeps the import from beginning', async () => {
  const { run, people } = await deployment();
  const theirs = { username: 'eve', name: 'Eve' };
  const { code, said } = await run([...everybody, theirs]);
  expect([code, said]).toEqual([3, expect.stringContaining('user eve, of the owner "file"')]);
  expect(await people()).toHaveLength(1);
  expect((await run([...everybody, theirs], ' --take-over')).code).toBe(0);
});

it('a conflict that others make meanwhile ends it; what was imported stays, and it says so', async () => {
  const { run, people, declared } = await deployment();
  const others = { tenants: [{ id: 'acme', users: [{ username: 'p0550', name: 'Theirs' }] }] };
  const { code, said } = await run(everybody, '', async (count) => {
    if (count !== 3) return;
    const request = { tenantId: 'acme', owner: 'others', document: JSON.stringify(others) };
    await declared.apply(request, rootCall('test'));
  });
  expect(code).toBe(3);
  const [, error = ''] = said.split(listsOf(600, 'To arrive in all'));
  expect(error).toMatch(/^500 of 600 people were imported, and stay; the same import goes on behind them\. /);
  expect(error).toMatch(/ Nothing of the next part was applied: .*\nuser p0550, of the owner "others"\n/);
  expect(await people()).toHaveLength(502);
});

it('addresses move between people of different parts, and from people who are gone', async () => {
  const { run, people } = await deployment();
  await run(everybody);
  const address = (username: string) => ({ email: `${username}@acme.example` });
  const moved = changed({
    p0000: address('p0599'),
    p0599: address('p0000'),
    p0300: address('p0100'),
    p0100: undefined,
  });
  expect(await run(moved, ' --allow-delete')).toEqual({
    code: 0,
    said: `acme: 0 created, 3 updated, 1 deleted\n${listsOf(599)}`,
  });
  const emails = new Map((await people()).map(({ username, email }) => [username, email]));
  expect(['p0000', 'p0599', 'p0300'].map((username) => emails.get(username))).toEqual([
    'p0599@acme.example',
    'p0000@acme.example',
    'p0100@acme.example',
  ]);
  expect((await run(moved)).said).toBe(`acme: 0 created, 0 updated, 0 deleted\n${listsOf(599)}`);
});

it('people who clash with those of others are left out with a line, the first time and later', async () => {
  const { run, people } = await deployment();
  const clashing = changed({ p0001: { email: 'EVE@acme.example' } });
  const line = 'left out: user p0001: shares a user name, e-mail address or phone number with another user';
  const first = await run(clashing);
  expect([first.code, first.said]).toEqual([0, expect.stringContaining(line)]);
  expect(first.said).toContain('acme: 599 created');
  const again = await run(clashing);
  expect([again.code, again.said]).toEqual([0, expect.stringContaining(line)]);
  expect(again.said).toContain('acme: 0 created, 0 updated, 0 deleted');
  expect((await people()).map(({ username }) => username)).not.toContain('p0001');
});

it('a mistake in a later part is left out with the number and name that the file has', async () => {
  const { run, people } = await deployment();
  const wrong = [...changed({ p0300: { email: 'nowhere' } }), { name: 'Nobody' }, ...numbered(1)];
  const { code, said } = await run(wrong);
  expect([code, said.trimEnd().split('\n')]).toEqual([
    0,
    [
      'acme: 600 created, 0 updated, 0 deleted',
      'Arrived: 600 people',
      'To do by you: 0',
      'Left out: 3',
      'left out: user p0000: the user name is taken by another person',
      'left out: email of user p0300: must be an e-mail address',
      expect.stringMatching(/^left out: user number 601: username is required/),
    ],
  ]);
  expect(await people()).toHaveLength(601);
});
