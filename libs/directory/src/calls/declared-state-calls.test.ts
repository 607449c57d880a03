import type { DescribePlanResponse } from '@tessera/proto-gen/plan';
import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
import { testDatabase } from '@tessera/test-kit';
import type { Database } from '@tessera/stores';
import { parse } from 'yaml';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
let count = 0;

beforeAll(async () => {
  database = await testDatabase(migrations);
});

const platform = `
tenants:
  - id: '{id}'
    name: Acme
    issuer: 'https://{id}.example'
    resources: [{ audience: 'https://api.{id}.example', name: API, scopes: [read] }]
    roles: [clerk]
    users: [{ username: ada, password: correct horse, roles: [clerk] }, { username: bob }]
    applications:
      - { clientId: '{id}-web', name: Web, type: public, grantTypes: [device_code], scopes: [openid, read] }
`;
const team = (name: string, fields = '') => `
owner: ${name}
tenants:
  - id: '{id}'
    applications:
      - { clientId: '{id}-${name}', name: ${name}, type: public, grantTypes: [device_code], scopes: [openid]${fields} }
`;
const everyKind = ['tenant', 'resource', 'role', 'provider', 'user', 'application'];

/** A directory with a tenant, whose identifier stands for `{id}` in documents. */
async function start(document = platform) {
  const { api, files, plans } = startRecords(database);
  const tenantId = `d${(count += 1)}`;
  const text = (given: string) => given.replaceAll('{id}', tenantId);
  const state = api.declaredState;
  const asked = (given: string, options: object) => ({ tenantId, document: text(given), ...options });
  if (document !== '') await state.apply(asked(document, {}), call());
  return {
    api,
    files,
    tenantId,
    text,
    apply: async (given: string, options: object = {}) => state.apply(asked(given, options), call()),
    diff: async (given: string, options: object = {}) => state.diff(asked(given, options), call()),
    get: async (options: object = {}) =>
      parse((await state.get({ tenantId, ...options }, call())).document) as Readonly<
        Record<string, unknown>
      >,
    async describe(given: string, kinds = everyKind, options: object = {}) {
      const parts: DescribePlanResponse[] = [];
      for await (const part of plans.describePlan({ ...asked(given, options), kinds }, call()))
        parts.push(part);
      const [{ kinds: declared, powers, etag } = { kinds: [], powers: [], etag: '' }] = parts;
      const changes = parts
        .flatMap(({ changes: all }) => all)
        .map(({ name, before, after }) => [
          before?.record.case ?? after?.record.case,
          name,
          ...(before ? ['before'] : []),
          ...(after ? ['after'] : []),
        ]);
      return { kinds: declared, powers, etag, changes: changes.map((words) => words.join(' ')), parts };
    },
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

describe('Apply', () => {
  it('makes the tenant of the request, and changes nothing the second time', async () => {
    const { apply } = await start('');
    expect(await apply(platform)).toMatchObject({ created: 6, updated: 0, deleted: 0, unchanged: false });
    expect(await apply(platform)).toMatchObject({ created: 0, unchanged: true });
  });

  it('takes no document of another tenant, and reads nothing of that one', async () => {
    const { apply, diff, describe: described, api } = await start();
    const other = await start();
    const both = `${platform.trimEnd()}\n  - id: ${other.tenantId}\n    users: [{ username: ada, nickname: 5 }]\n`;
    for (const work of [apply(both), diff(both), described(both)]) {
      const error = await refusal(work);
      expect(error.code).toBe(Code.InvalidArgument);
      expect(fieldViolations(error)).toEqual([
        {
          field: 'document',
          description: expect.stringMatching(
            /^document:\d+:5: tenants\[1\]\.id: is another tenant than that of the request$/,
          ) as string,
        },
      ]);
    }
    expect((await api.users.list({ tenantId: other.tenantId }, call())).users).toHaveLength(2);
    expect(fieldViolations(await refusal(apply('tenants: []')))).toEqual([
      { field: 'document', description: 'document:1:1: tenants: must have the tenant of the request' },
    ]);
  });

  it('names mistakes as those of the document, by line and key, and leaves none out', async () => {
    const { apply } = await start();
    const wrong = (many: number) =>
      `tenants:\n  - id: '{id}'\n    users:\n${Array.from({ length: many }, (_, at) => `      - { username: u${at}, colour: x }\n`).join('')}`;
    const two = await refusal(apply(wrong(2), { fileName: 'state.yaml' }));
    expect(fieldViolations(two).map(({ description }) => description)).toEqual([
      'state.yaml:4:25: tenants[0].users[0].colour: is not a known key',
      'state.yaml:5:25: tenants[0].users[1].colour: is not a known key',
    ]);
    const many = fieldViolations(await refusal(apply(wrong(30))));
    expect(many).toHaveLength(20);
    expect(many.flatMap(({ description }) => description.split('\n'))).toHaveLength(30);
    expect(fieldViolations(await refusal(apply(platform, { owner: 'A Team' })))).toMatchObject([
      { field: 'owner' },
    ]);
  });

  it('keeps the records of two owners of one tenant apart, at the same time too', async () => {
    const { apply, api, tenantId } = await start();
    const made = await Promise.all(['orders', 'stock'].map(async (name) => apply(team(name))));
    expect(made).toMatchObject([{ created: 1 }, { created: 1 }]);
    const changed = await Promise.all(
      Array.from({ length: 6 }, async (_, at) => {
        const name = at % 2 === 0 ? 'orders' : 'stock';
        return apply(team(name, `, thirdParty: ${at > 3}`));
      }),
    );
    expect(changed.map(({ deleted }) => deleted)).toEqual([0, 0, 0, 0, 0, 0]);
    const { applications } = await api.applications.list({ tenantId }, call());
    expect(applications.map(({ clientId, owner }) => [clientId, owner])).toEqual([
      [`${tenantId}-orders`, 'orders'],
      [`${tenantId}-stock`, 'stock'],
      [`${tenantId}-web`, 'file'],
    ]);
    const renamed = team('orders').replace('name: orders', 'name: Renamed');
    const theirs = await refusal(apply(renamed, { owner: 'stock', allowDelete: true }));
    expect([theirs.code, theirs.rawMessage]).toEqual([
      Code.FailedPrecondition,
      expect.stringContaining(`application ${tenantId}-orders, of the owner "orders"`),
    ]);
    const taken = await apply(renamed, { owner: 'stock', takeOver: true, allowDelete: true });
    expect(taken).toMatchObject({ updated: 1, deleted: 1 });
  });

  it('asks for deletions and powers over the administration, as the older service does', async () => {
    const { apply, diff, files, text } = await start();
    const fewer = platform.replace(', { username: bob }', '');
    const more = platform.replace('{ username: bob }', '{ username: bob, roles: [tessera.auditor] }');
    for (const document of [fewer, more]) {
      const request = { document: text(document), fileName: 'document' };
      const older = await refusal(files.apply(request, call()));
      const error = await refusal(apply(document));
      expect([error.code, error.rawMessage]).toEqual([older.code, older.rawMessage]);
      const [differences] = (await files.diff({ ...request, impact: true }, call())).tenants;
      const found = await diff(document, { impact: true });
      expect([found.differences.map(({ name }) => name), found.withoutWayIn]).toEqual([
        differences?.differences.map(({ name }) => name),
        differences?.withoutWayIn,
      ]);
      expect(found.administration.map(({ powers }) => powers)).toEqual(
        differences?.administration.map(({ powers }) => powers),
      );
      expect(found.impact?.people).toBe(differences?.impact?.people);
    }
    expect(await apply(fewer, { allowDelete: true })).toMatchObject({ deleted: 1 });
    expect(await apply(more, { allowAdministration: true })).toMatchObject({ created: 1 });
  });

  it('carries out what was compared alone, if it is told what that was', async () => {
    const { apply, diff } = await start();
    const named = platform.replace('{ username: bob }', '{ username: bob, name: Bob }');
    const { etag } = await diff(named);
    const other = platform.replace('{ username: bob }', '{ username: bob, name: Robert }');
    expect((await diff(other)).etag).not.toBe(etag);
    expect(await refusal(apply(other, { etag }))).toMatchObject({ code: Code.Aborted });
    expect((await diff(named)).etag).toBe(etag);
    expect(await apply(named, { etag })).toMatchObject({ updated: 1 });
    expect(await refusal(apply(named, { etag }))).toMatchObject({ code: Code.Aborted });
  });
});

describe('the description of a plan', () => {
  it('has the kinds that are declared, and every record that would change', async () => {
    const { describe: described } = await start();
    const changed = platform
      .replace('name: Acme', 'name: Acme Ltd')
      .replace('roles: [clerk]\n    users', 'roles: [clerk, packer]\n    users')
      .replace('{ username: bob }', '{ username: eve }');
    const { kinds, changes, etag } = await described(changed);
    expect(kinds).toEqual(['tenant', 'resource', 'role', 'user', 'application']);
    expect(changes.toSorted()).toEqual([
      'role packer after',
      expect.stringMatching(/^tenant d\d+ before after$/),
      'user ada before after',
      'user bob before',
      'user eve after',
    ]);
    expect(etag).not.toBe('');
    expect((await described(changed)).etag).toBe(etag);
  });

  it('tells nobody whether a password or a secret is the present one, of who administers neither', async () => {
    const { describe: described, apply, diff } = await start();
    const robot = (value: string) => `
owner: robot
tenants:
  - id: '{id}'
    applications:
      - { clientId: '{id}-robot', name: Robot, type: confidential, grantTypes: [client_credentials], scopes: [admin.users.read],
          secrets: [{ value: ${value}-of-at-least-32-characters }] }
`;
    const people = platform.replace('roles: [clerk] }, {', 'roles: [tessera.auditor] }, {');
    await apply(people, { allowAdministration: true });
    await apply(robot('present'), { allowAdministration: true });
    const wrong = people.replace('correct horse', 'another horse');
    for (const [right, guess] of [
      [people, wrong],
      [robot('present'), robot('guessed')],
    ] as const) {
      const [one, other] = [await described(right), await described(guess)];
      expect(one.changes).toHaveLength(1);
      expect(other).toEqual(one);
    }
    // It is the one of what is compared and applied, though these compare them.
    const { etag } = await described(wrong);
    expect((await diff(wrong)).etag).toBe(etag);
    expect(await apply(wrong, { etag, allowAdministration: true })).toMatchObject({ updated: 1 });
  });

  it('has the powers of who stays as they are, where the tenant gets another issuer', async () => {
    const { describe: described, apply } = await start();
    const people = platform.replace('{ username: bob }', '{ username: bob, roles: [tessera.auditor] }');
    await apply(people, { allowAdministration: true });
    const moved = people.replace('{id}.example', 'other-{id}.example');
    expect((await described(people)).powers).toEqual([]);
    expect((await described(moved)).powers).toMatchObject([
      { kind: 'user', name: 'bob', powers: ['tessera.auditor'] },
    ]);
  });

  it('is of the kinds alone where the document declares one that may not be changed, whatever it says of it', async () => {
    const { describe: described } = await start();
    const taken = `tenants: [{ id: '{id}', users: [{ username: eve, email: ada@x.example, roles: [nothing] }] }]`;
    expect(await described(taken, ['application'])).toMatchObject({ kinds: ['user'], changes: [], etag: '' });
    const { code, rawMessage } = await refusal(described(taken));
    expect([code, rawMessage]).toEqual([
      Code.FailedPrecondition,
      'document:1:79: tenants[0].users[0].roles[0]: is not a role of the tenant',
    ]);
  });

  it('names no conflict with records of kinds that may not be changed', async () => {
    const { describe: described, apply } = await start();
    await apply(`owner: desk\ntenants: [{ id: '{id}', users: [{ username: eve, roles: [clerk] }] }]`);
    const withoutRole = `tenants: [{ id: '{id}' }]`;
    expect(await refusal(described(withoutRole))).toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: expect.stringContaining('user eve') as string,
    });
    const told = await described(withoutRole, ['application']);
    expect(told).toMatchObject({ changes: [], powers: [], etag: '' });
    expect(told.kinds.toSorted((one, other) => one.localeCompare(other))).toEqual([
      'resource',
      'role',
      'user',
    ]);
  });

  it('has more parts for many records', async () => {
    const { describe: described } = await start();
    const many = Array.from({ length: 1500 }, (_, at) => `{ username: p${at} }`).join(', ');
    const { parts, changes } = await described(`owner: many\ntenants: [{ id: '{id}', users: [${many}] }]`);
    expect(parts).toHaveLength(2);
    expect(changes).toHaveLength(1500);
  });
});

describe('Get', () => {
  it('writes what Apply takes, of one owner and of some kinds if they are named', async () => {
    const { apply, get, api, tenantId } = await start();
    await apply(team('orders'));
    const whole = (await api.declaredState.get({ tenantId }, call())).document;
    expect(whole).toContain(`tenants:\n- id: ${tenantId}\n  name: Acme\n`);
    const found = await get({ owner: 'orders' });
    expect(found).toEqual({
      owner: 'orders',
      tenants: [
        { id: tenantId, applications: [expect.objectContaining({ clientId: `${tenantId}-orders` })] },
      ],
    });
    expect(await apply(JSON.stringify(found))).toMatchObject({ unchanged: true });
    expect(await get({ kinds: ['role', 'user'] })).toEqual({
      tenants: [
        {
          id: tenantId,
          roles: ['clerk'],
          users: [{ username: 'ada', roles: ['clerk'] }, { username: 'bob' }],
        },
      ],
    });
  });

  it('refuses what is no owner or kind, and knows no tenant of another name', async () => {
    const { api, tenantId } = await start();
    const asked = async (request: object) => refusal(api.declaredState.get({ tenantId, ...request }, call()));
    expect(fieldViolations(await asked({ kinds: ['people'] }))).toMatchObject([{ field: 'kinds' }]);
    expect(fieldViolations(await asked({ owner: 'A' }))).toMatchObject([{ field: 'owner' }]);
    expect(await asked({ tenantId: 'nowhere' })).toMatchObject({ code: Code.NotFound });
  });
});
