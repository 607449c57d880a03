import { Code, ConnectError } from '@tessera/rpc';
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

interface Options {
  readonly owner?: string;
  readonly takeOver?: boolean;
  readonly allowDelete?: boolean;
}

/** A directory, and a tenant whose identifier stands for `{id}` in documents. */
function start() {
  const { api, files } = startRecords(database);
  const tenantId = `t${(count += 1)}`;
  const text = (document: string) => document.replaceAll('{id}', tenantId);
  const apply = async (document: string, options: Options = {}) =>
    files.apply({ document: text(document), fileName: 'state.yaml', ...options }, call());
  return {
    api,
    files,
    tenantId,
    apply,
    refusal: async (document: string, options: Options = {}) => {
      const error: unknown = await apply(document, options).then(
        () => 'nothing',
        (thrown: unknown) => thrown,
      );
      if (!(error instanceof ConnectError)) throw new Error('It was not refused.', { cause: error });
      return `${Code[error.code]}: ${error.rawMessage}`;
    },
    diff: async (document: string, options: Pick<Options, 'owner' | 'takeOver'> = {}) =>
      (await files.diff({ document: text(document), fileName: 'state.yaml', ...options }, call())).tenants,
    /** Everything of the tenant, as rows with their versions. */
    rows: async () => rows(tenantId),
    /** Whose records have another version afterwards, each with its owner before and after. */
    changesOf: async (work: () => Promise<void>) => {
      const before = await ownedRows(tenantId);
      await work();
      const after = await ownedRows(tenantId);
      const differing = [...before, ...after].filter((row) => !(before.has(row) && after.has(row)));
      return [...new Set(differing.map((row) => row.replace(/ \d+$/, '')))].toSorted();
    },
    people: async () => {
      const { users } = await api.users.list({ tenantId }, call());
      return users.map(({ username, owner, userId }) => ({ username, owner, userId }));
    },
  };
}

/** The records of a tenant, each with its owner and the version of its row. */
async function rows(tenantId: string, owner = ''): Promise<string[]> {
  const { rows: found } = await database.query<{ line: string }>({
    name: 'test.owned_rows',
    text: `SELECT line FROM (
             SELECT 'tenant ' || name || ' ' || xmin AS line, owner FROM directory.tenant WHERE tenant_id = $1
             UNION ALL SELECT 'resource ' || audience || ' ' || name || ' ' || xmin, owner FROM directory.api_resource WHERE tenant_id = $1
             UNION ALL SELECT 'role ' || name || ' ' || xmin, owner FROM directory.role WHERE tenant_id = $1
             UNION ALL SELECT 'user ' || user_id || username || name || ' ' || xmin, owner FROM directory.user_account WHERE tenant_id = $1
             UNION ALL SELECT 'application ' || client_id || ' ' || name || ' ' || xmin, owner FROM directory.application
                        WHERE tenant_id = $1) AS everything
            WHERE $2 IN ('', owner) ORDER BY line`,
    values: [tenantId, owner],
  });
  return found.map(({ line }) => line);
}

/** The records of a tenant, each with its kind, what identifies it, its owner, and the version of its row. */
async function ownedRows(tenantId: string): Promise<ReadonlySet<string>> {
  const { rows: found } = await database.query<{ line: string }>({
    name: 'test.rows_of_owners',
    text: `SELECT concat_ws(' ', kind, id, 'of', owner, version) AS line FROM (
             SELECT 'tenant' AS kind, tenant_id AS id, owner, xmin AS version FROM directory.tenant WHERE tenant_id = $1
             UNION ALL SELECT 'resource', audience, owner, xmin FROM directory.api_resource WHERE tenant_id = $1
             UNION ALL SELECT 'role', name, owner, xmin FROM directory.role WHERE tenant_id = $1
             UNION ALL SELECT 'user', username, owner, xmin FROM directory.user_account WHERE tenant_id = $1
             UNION ALL SELECT 'application', client_id, owner, xmin FROM directory.application
                        WHERE tenant_id = $1) AS everything`,
    values: [tenantId],
  });
  return new Set(found.map(({ line }) => line));
}

const platform = `
tenants:
  - id: '{id}'
    name: Acme
    resources: [{ audience: 'https://api.{id}.example', name: API, scopes: [read] }]
    roles: [clerk]
    users: [{ username: ada, roles: [clerk] }, { username: bob }]
    applications:
      - { clientId: '{id}-web', name: Web, type: public, grantTypes: [device_code], scopes: [openid, read] }
`;

/** Refers to the tenant, its role and its scope. */
const orders = `
owner: orders
tenants:
  - id: '{id}'
    roles: [packer]
    users: [{ username: eve, roles: [clerk, packer] }]
    applications:
      - { clientId: '{id}-orders', name: Orders, type: public, grantTypes: [device_code], scopes: [read] }
`;

/** The same with another name of a person. */
const named = (document: string, person: string, name: string) =>
  document.replace(`username: ${person}`, `username: ${person}, name: '${name}'`);

/** What `orders` may not declare without a takeover. */
const withBob = orders.replace('users: [', 'users: [{ username: bob, name: theirs }, ');

describe('the owner of records', () => {
  it('is the file, or what the file or the caller names; a second file leaves the records of the first', async () => {
    const { apply, rows: all, people, tenantId } = start();
    await apply(platform);
    const before = await all();
    const [first] = (await apply(orders)).tenants;
    expect(first).toMatchObject({ created: 3, updated: 0, deleted: 0 });
    expect((await all()).filter((row) => before.includes(row))).toEqual(before);
    expect((await people()).map(({ username, owner }) => `${username} ${owner}`)).toEqual([
      'ada file',
      'bob file',
      'eve orders',
    ]);
    expect((await apply(orders)).tenants[0]).toMatchObject({ unchanged: true });
    expect((await apply(platform)).tenants[0]).toMatchObject({ unchanged: true });
    await apply(
      orders.replace('owner: orders', 'owner: other').replaceAll(/(eve|packer|Orders|-orders)/g, '$1-2'),
      {
        owner: 'micro',
      },
    );
    expect((await rows(tenantId, 'micro')).map((row) => row.split(' ')[0])).toEqual([
      'application',
      'role',
      'user',
    ]);
  });

  it('deletes what it no longer declares, and nothing of others', async () => {
    const { apply, refusal, rows: all, people } = start();
    await apply(platform);
    const before = await all();
    await apply(orders);
    const less = `
owner: orders
tenants: [{ id: '{id}' }]
`;
    expect(await refusal(less)).toMatch(
      /^FailedPrecondition: .*\n.*role packer\n.*user eve\n.*application t\d+-orders\n/,
    );
    await apply(less, { allowDelete: true });
    expect(await all()).toEqual(before);
    expect(await people()).toHaveLength(2);
  });

  it('is asked for allowance where a second file without an owner would delete the people of the first', async () => {
    const { refusal, apply, rows: all } = start();
    await apply(platform);
    const before = await all();
    const second = orders.replace('owner: orders', '').replace(`id: '{id}'`, `id: '{id}'\n    name: Acme`);
    expect(await refusal(second)).toMatch(/not a role of the tenant/);
    const alone = second.replace('[clerk, packer]', '[packer]').replace('scopes: [read]', 'scopes: [openid]');
    const list = await refusal(alone);
    for (const deleted of [/: user ada\n/, /: user bob\n/, /: application t\d+-web\n/])
      expect(list).toMatch(deleted);
    expect(await all()).toEqual(before);
  });

  it('keeps others from changing a record; the conflict names it, and a takeover moves it', async () => {
    const { apply, refusal, diff, rows: all, people } = start();
    await apply(platform);
    await apply(orders);
    const before = await all();
    const [ada] = await people();
    const change = `
owner: orders
tenants:
  - id: '{id}'
    name: Another
    resources: [{ audience: 'https://api.{id}.example', name: Ours, scopes: [read] }]
    roles: [packer, clerk]
    users: [{ username: ADA, name: Ada }, { username: eve, roles: [clerk, packer] }]
    applications:
      - { clientId: '{id}-orders', name: Orders, type: public, grantTypes: [device_code], scopes: [read] }
`;
    const message = await refusal(change);
    expect(message).toMatch(/^FailedPrecondition: /);
    for (const record of [/tenant t\d+/, /resource https:\S+/, /user ADA/])
      expect(message).toMatch(new RegExp(`\n${record.source}, of the owner "file"`));
    expect(message).not.toMatch(/role|eve/);
    expect(await all()).toEqual(before);
    await expect(diff(change)).rejects.toMatchObject({ code: Code.FailedPrecondition });
    const [{ differences } = { differences: [] }] = await diff(change, { takeOver: true });
    expect(differences.map(({ kind, name, keys }) => `${kind} ${name} ${keys.join(',')}`)).toEqual([
      expect.stringMatching(/^tenant \S+ owner,name/),
      expect.stringMatching(/^resource \S+ .*name/),
      'role clerk owner',
      expect.stringMatching(/^user ADA .*owner/),
    ]);
    await apply(change, { takeOver: true });
    expect((await people())[0]).toEqual({ username: 'ADA', owner: 'orders', userId: ada?.userId });
    expect(await refusal(platform)).toMatch(/of the owner "orders"/);
  });

  it('may declare what another owner declared in the same way; nothing changes', async () => {
    const { apply, rows: all } = start();
    await apply(platform);
    const before = await all();
    expect((await apply(platform, { owner: 'copy' })).tenants[0]).toMatchObject({ unchanged: true });
    expect(await all()).toEqual(before);
  });

  it.each([
    [
      'a role that a person of another owner has',
      'roles: [clerk]',
      'roles: []',
      /user eve, of the owner "orders": roles\[0\]/,
    ],
    [
      'a scope that an application of another owner uses',
      'scopes: [read] }]',
      'scopes: [other] }]',
      /application t\d+-orders, of the owner "orders": scopes\[0\]/,
    ],
  ])('cannot remove %s', async (_, present, absent, expected) => {
    const { apply, refusal, rows: all } = start();
    await apply(platform);
    await apply(orders);
    const before = await all();
    const without = platform
      .replace(present, absent)
      .replace('roles: [clerk] }, ', `roles: ${absent === 'roles: []' ? '[]' : '[clerk]'} }, `)
      .replace('scopes: [openid, read]', 'scopes: [openid]');
    expect(await refusal(without, { allowDelete: true })).toMatch(expected);
    expect(await all()).toEqual(before);
  });

  it('shares identifiers and scopes with no other owner', async () => {
    const { apply, refusal } = start();
    await apply(platform.replace('username: ada', 'username: ada, email: ada@acme.example'));
    const person = `
owner: orders
tenants: [{ id: '{id}', users: [{ username: eve, email: ADA@acme.example }] }]
`;
    expect(await refusal(person)).toMatch(
      /^FailedPrecondition: state\.yaml:3:.*users\[0\]: shares a user name/,
    );
    const scope = `
owner: orders
tenants: [{ id: '{id}', resources: [{ audience: 'https://orders.{id}.example', name: Orders, scopes: [read] }] }]
`;
    expect(await refusal(scope)).toMatch(
      /^FailedPrecondition: state\.yaml:3:.*scopes\[0\]: is declared twice/,
    );
  });

  it('of an entry without a name refers to a tenant that exists', async () => {
    const { refusal, apply } = start();
    expect(await refusal(orders)).toMatch(/tenants\[0\]\.name: is required, as there is no such tenant yet/);
    await apply(platform.replace('name: Acme', 'name: Acme\n    issuer: https://{id}.example'));
    await apply(orders);
    // It would have no effect, and the operator would believe in a second factor that nobody is asked for.
    for (const own of [
      'status: disabled',
      "issuer: 'https://orders.example'",
      'authenticationPolicy: second-factor',
      'registration: open',
      "looks: { accentColor: '#0f766e' }",
    ]) {
      const problem = new RegExp(`${own.split(':')[0]}: needs name`);
      expect(await refusal(orders.replace('roles: [packer]', own))).toMatch(problem);
    }
    expect(await refusal(orders, { owner: 'api' })).toMatch(/^InvalidArgument: owner: must not be api/);
    expect(await refusal(orders.replace('owner: orders', 'owner: A B'))).toMatch(
      /state\.yaml:2:1: owner: must/,
    );
  });

  it('api keeps its records from files, and files keep theirs', async () => {
    const { api, tenantId, apply, refusal, people } = start();
    await apply(platform);
    await api.users.create({ tenantId, user: { username: 'mallory' } }, call());
    expect((await apply(platform)).tenants[0]).toMatchObject({ unchanged: true });
    expect(await people()).toHaveLength(3);
    const declared = platform.replace(
      '{ username: bob }',
      '{ username: bob }, { username: mallory, name: M }',
    );
    expect(await refusal(declared)).toMatch(/user mallory, of the owner "api"/);
  });

  // Ten tests instead of one, so that a busy machine has time for each.
  const turns = Array.from({ length: 10 }, (_, turn) => turn + 1);
  it.each(turns)('is alone in what it writes when two apply in turn and at once, turn %i', async () => {
    const { apply, refusal, changesOf, tenantId } = start();
    await apply(platform);
    await apply(orders);
    for (let round = 0; round < 20; round += 1) {
      const name = `Round ${round}`;
      const inTurn = await changesOf(async () => {
        await apply(named(platform, 'ada', name));
      });
      // Ada has a new name, and Bob, from the second round on, none.
      expect(inTurn.filter((row) => row !== 'user bob of file')).toEqual(['user ada of file']);
      const atOnce = await changesOf(async () => {
        const [ours, theirs, conflict] = await Promise.all([
          apply(named(platform, 'bob', name)),
          apply(named(orders, 'eve', name)),
          refusal(withBob),
        ]);
        expect(ours.tenants).toMatchObject([{ created: 0, updated: 2, deleted: 0 }]);
        expect(theirs.tenants).toMatchObject([{ created: 0, updated: 1, deleted: 0 }]);
        expect(conflict).toMatch(/^FailedPrecondition: .*\nuser bob, of the owner "file"\n/);
      });
      expect(atOnce).toEqual(['user ada of file', 'user bob of file', 'user eve of orders']);
    }
    expect((await rows(tenantId, 'orders')).filter((row) => row.startsWith('user'))).toEqual([
      expect.stringMatching(/eveRound 19 \d+$/),
    ]);
  });

  it('is seen to lose a record where another one takes it over', async () => {
    const { apply, changesOf } = start();
    await apply(platform);
    await apply(orders);
    expect(
      await changesOf(async () => {
        await apply(withBob, { takeOver: true });
      }),
    ).toEqual(['user bob of file', 'user bob of orders']);
  });
});
