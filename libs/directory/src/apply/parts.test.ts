import type { DescribePlanResponse } from '@tessera/proto-gen/plan';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
import { testDatabase } from '@tessera/test-kit';
import type { Database } from '@tessera/stores';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
let count = 0;

beforeAll(async () => {
  database = await testDatabase(migrations);
});

const hash = '$2b$04$abcdefghijklmnopqrstuuSvWjnwRvkDqNFGPzoRTE5.e.PDtuyAi';
const keptKinds = ['resource', 'role', 'provider', 'user', 'application'];

interface Options {
  readonly owner?: string;
  readonly keptKinds?: string[];
  readonly deletedUsers?: string[];
  readonly allowDelete?: boolean;
  readonly takeOver?: boolean;
}

/** A directory, and a tenant of another owner than the one of the parts. */
async function start() {
  const { api, plans } = startRecords(database);
  const tenantId = `p${(count += 1)}`;
  const request = (content: object, options: Options = {}) => ({
    tenantId,
    owner: 'moved',
    document: JSON.stringify({ tenants: [{ id: tenantId, ...content }] }),
    keptKinds,
    ...options,
  });
  const apply = async (content: object, options?: Options) =>
    api.declaredState.apply(request(content, options), call());
  const diff = async (content: object, options?: Options) =>
    api.declaredState.diff(request(content, options), call());
  await apply(
    { name: 'Acme', roles: ['clerk'], users: [{ username: 'eve', email: 'eve@acme.example' }] },
    { owner: 'file', keptKinds: [] },
  );
  return {
    apply,
    diff,
    describePlan: async (content: object, options: Options, kinds: string[]) => {
      const parts: DescribePlanResponse[] = [];
      for await (const part of plans.describePlan({ ...request(content, options), kinds }, call()))
        parts.push(part);
      return parts;
    },
    people: async () => {
      const { users } = await api.users.list({ tenantId }, call());
      return users.map(({ username, owner }) => `${username} of ${owner}`);
    },
    roles: async () => (await api.roles.list({ tenantId }, call())).roles.map(({ name }) => name).toSorted(),
  };
}

async function refusal(work: Promise<unknown>): Promise<ConnectError> {
  const error: unknown = await work.then(
    () => 'nothing',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error('It was not refused.', { cause: error });
  return error;
}

describe('a document that is a part', () => {
  it('leaves what it does not declare, and parts in any order make the whole', async () => {
    const { apply, diff, people, roles } = await start();
    const ada = { users: [{ username: 'ada', email: 'ada@acme.example' }] };
    const bob = { roles: ['boss'], users: [{ username: 'bob', roles: ['boss', 'clerk'] }] };
    expect(await apply(ada)).toMatchObject({ created: 1, deleted: 0 });
    expect((await diff(bob)).differences).toMatchObject([
      { kind: 'role', name: 'boss', change: 'created' },
      { kind: 'user', name: 'bob', change: 'created' },
    ]);
    expect(await apply(bob)).toMatchObject({ created: 2, updated: 0, deleted: 0 });
    for (const again of [ada, bob, {}]) expect(await apply(again)).toMatchObject({ unchanged: true });
    const whole = { ...bob, users: [...bob.users, ...ada.users] };
    expect(await apply(whole, { keptKinds: [] })).toMatchObject({ unchanged: true });
    expect(await people()).toEqual(['ada of moved', 'bob of moved', 'eve of file']);
    expect(await roles()).toEqual(['boss', 'clerk']);
  });

  it('changes a person, and finds them by their user name in any case', async () => {
    const { apply, diff } = await start();
    await apply({ users: [{ username: 'Ada', passwordHash: hash }] });
    const renamed = { users: [{ username: 'Ada', name: 'Ada', passwordHash: hash }] };
    expect((await diff(renamed)).differences).toMatchObject([{ change: 'updated', keys: ['name'] }]);
    expect(await apply(renamed)).toMatchObject({ created: 0, updated: 1 });
    expect(await apply({ users: [{ username: 'ADA', name: 'Ada' }] })).toMatchObject({
      created: 0,
      updated: 1,
    });
  });

  it('deletes the people that it names, if they are its own and that is allowed, and nobody twice', async () => {
    const { apply, diff, people } = await start();
    await apply({ users: [{ username: 'Ada' }, { username: 'bob' }, { username: 'cleo' }] });
    const leaving = { deletedUsers: ['ada', 'BOB', 'eve', 'nobody'] };
    const { differences } = await diff({}, leaving);
    const deletions = differences.map((one) => [one.name, one.change, one.needsAllowDelete].join(' '));
    expect(deletions.toSorted()).toEqual(['Ada deleted true', 'bob deleted true']);
    const { code, rawMessage } = await refusal(apply({}, leaving));
    expect([code, rawMessage.match(/(?<=: user )\w+/g)?.toSorted()]).toEqual([
      Code.FailedPrecondition,
      ['Ada', 'bob'],
    ]);
    expect(await people()).toHaveLength(4);
    expect(await apply({}, { ...leaving, allowDelete: true })).toMatchObject({ deleted: 2 });
    expect(await apply({}, { ...leaving, allowDelete: true })).toMatchObject({ unchanged: true });
    expect(await people()).toEqual(['cleo of moved', 'eve of file']);
  });

  it('keeps a declared person whom it also names among those who go', async () => {
    const { apply, people } = await start();
    await apply({ users: [{ username: 'ada' }] });
    const both = { deletedUsers: ['ada'], allowDelete: true };
    expect(await apply({ users: [{ username: 'ada' }] }, both)).toMatchObject({ unchanged: true });
    expect(await people()).toEqual(['ada of moved', 'eve of file']);
  });

  it('clashes with everybody who stays, by whichever name, as with people of others', async () => {
    const { apply } = await start();
    const known = { username: 'ada', email: 'ada@acme.example', preferredUsername: 'the-countess' };
    await apply({ users: [known, { username: 'bob', phoneNumber: '+46701234567' }] });
    const clashing: readonly [object, string][] = [
      [{ username: 'cleo', email: 'ADA@acme.example' }, 'shares a user name'],
      [{ username: 'cleo', phoneNumber: '+46701234567' }, 'shares a user name'],
      [{ username: 'cleo', email: 'eve@acme.example' }, 'shares a user name'],
      [{ username: 'ada@acme.example' }, 'shares a user name'],
      [{ username: 'the-countess' }, 'is the preferredUsername of another user'],
      [{ username: 'cleo', preferredUsername: 'bob' }, 'is the user name, e-mail address or phone number'],
      [{ username: 'cleo', preferredUsername: 'eve' }, 'is the user name, e-mail address or phone number'],
    ];
    for (const [user, message] of clashing) {
      const { code, rawMessage } = await refusal(apply({ users: [user] }));
      expect([code, rawMessage]).toEqual([
        Code.FailedPrecondition,
        expect.stringMatching(new RegExp(`^document:1:\\d+: tenants\\[0\\]\\.users\\[0\\].*: ${message}`)),
      ]);
    }
    const moved = { users: [{ username: 'cleo', email: 'ada@acme.example' }] };
    expect(await apply(moved, { deletedUsers: ['ada'], allowDelete: true })).toMatchObject({
      created: 1,
      deleted: 1,
    });
  });

  it('changes no person of another owner, unless it takes them over', async () => {
    const { apply, people } = await start();
    const eve = { users: [{ username: 'eve', name: 'Eve', email: 'eve@acme.example' }] };
    expect((await refusal(apply(eve))).rawMessage).toContain('user eve, of the owner "file"');
    expect(await apply(eve, { takeOver: true })).toMatchObject({ updated: 1 });
    expect(await people()).toEqual(['eve of moved']);
  });

  it('removes no role that people who stay have, and keeps kinds one by one', async () => {
    const { apply, roles } = await start();
    const bob = { roles: ['boss', 'spare'], users: [{ username: 'bob', roles: ['boss'] }] };
    await apply(bob);
    const refused = await refusal(apply({}, { keptKinds: ['user'], allowDelete: true }));
    expect(refused.rawMessage).toMatch(
      /records that stay it breaks rules of\nuser bob, .*: roles\[0\] is not/,
    );
    expect(await apply({ roles: ['boss'] }, { keptKinds: ['user'], allowDelete: true })).toMatchObject({
      deleted: 1,
    });
    expect(await roles()).toEqual(['boss', 'clerk']);
  });

  it('is refused if it names kinds that there are not, or deletes people who do not stay anyway', async () => {
    const { apply, diff } = await start();
    for (const ask of [apply, diff]) {
      expect(fieldViolations(await refusal(ask({}, { keptKinds: ['people'] })))).toMatchObject([
        { field: 'keptKinds' },
      ]);
      const both = { keptKinds: ['role'], deletedUsers: ['ada'] };
      expect(fieldViolations(await refusal(ask({}, both)))).toMatchObject([{ field: 'deletedUsers' }]);
    }
  });

  it('is about people if it deletes some, whether they are there or not', async () => {
    const { describePlan, apply } = await start();
    await apply({ users: [{ username: 'ada' }] });
    for (const deletedUsers of [['ada'], ['nobody']]) {
      const options = { deletedUsers };
      expect(await describePlan({}, options, ['role'])).toMatchObject([{ kinds: ['user'], changes: [] }]);
      const [plan] = await describePlan({}, options, ['user']);
      expect(plan?.kinds).toEqual(['user']);
      expect(plan?.changes).toHaveLength(deletedUsers[0] === 'ada' ? 1 : 0);
    }
  });
});

describe('a part of people and roles', () => {
  it('reads nobody besides those whom it may concern', async () => {
    const { apply } = await start();
    await apply({ users: [{ username: 'ada' }, { username: 'bob' }] });
    const read: string[] = [];
    const recording = startRecords(recordingReads(database, read));
    const tenantId = `p${count}`;
    const document = JSON.stringify({ tenants: [{ id: tenantId, users: [{ username: 'cleo' }] }] });
    const request = { tenantId, owner: 'moved', document };
    await recording.api.declaredState.apply({ ...request, keptKinds }, call());
    expect(read).toContain('directory.read_users_named');
    expect(read).not.toContain('directory.read_users');
    await recording.api.declaredState.apply({ ...request, allowDelete: true }, call());
    expect(read).toContain('directory.read_users');
  });
});

/** The database, which tells the names of the statements of transactions. */
function recordingReads(of: Database, names: string[]): Database {
  return {
    ...of,
    transaction: (work) =>
      of.transaction(async (tx) =>
        work({
          query: (statement) => {
            names.push(statement.name);
            return tx.query(statement);
          },
        }),
      ),
  };
}
