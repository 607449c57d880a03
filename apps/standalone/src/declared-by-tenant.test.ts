import { adminScopes } from '@tessera/oauth';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { local, type AuthenticateBearer } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { administered, call, type Administered, type Answer } from './testing/administered.ts';

const everyScope = [...adminScopes.keys()];
let on: Administered;
let gus: string;
let helper: string;
let auditor: string;
beforeAll(async () => {
  on = await administered();
  on.clock.set(Date.now());
  gus = await on.tokenOfPerson('globex', await on.userId('globex', 'gus'));
  helper = await on.tokenOfPerson('ops', await on.userId('ops', 'helper'));
  auditor = await on.tokenOfPerson('ops', await on.userId('ops', 'auditor'));
});

interface Asked {
  readonly tenantId?: string;
  readonly [field: string]: unknown;
}

/** What only reads is asked again if a store has missed its limit on a busy machine. */
async function ask(verb: string, token: string, asked: Asked, at?: string, attempt = 1): Promise<Answer> {
  const { tenantId = 'globex', ...fields } = asked;
  const answer = await on.post(
    `${DeclaredStateService.typeName}/${verb}`,
    { tenantId, ...fields },
    token,
    at,
  );
  const isBusy = answer.status === 503 && verb !== 'Apply' && attempt < 5;
  return isBusy ? ask(verb, token, asked, at, attempt + 1) : answer;
}
const declaring = (content: object, tenantId = 'globex', owner = 'orders') => ({
  tenantId,
  document: JSON.stringify({ owner, tenants: [{ id: tenantId, ...content }] }),
});
const client = (clientId: string, fields: object = {}) => ({
  applications: [
    { clientId, name: clientId, type: 'public', grantTypes: ['device_code'], scopes: ['openid'], ...fields },
  ],
});

/** Asks for an application, and that nothing has changed by it. */
async function refusedBy(verb: 'Apply' | 'Diff', token: string, request: Asked): Promise<Answer> {
  const before = await on.everything();
  const answer = await ask(verb, token, request);
  expect(await on.everything()).toBe(before);
  return answer;
}
const refused = (message: string) => ({
  status: 403,
  body: { code: 'permission_denied', message: expect.stringContaining(message) as string },
});

describe('the administrator of a tenant', () => {
  it('declares records of every kind of that tenant, by the audit trail in their own name', async () => {
    const everything = {
      roles: ['packer'],
      resources: [{ audience: 'https://stock.globex.example', name: 'Stock', scopes: ['stock.read'] }],
      users: [{ username: 'eve', roles: ['packer'] }],
      ...client('globex-stock', { scopes: ['openid', 'stock.read'] }),
    };
    const request = declaring(everything, 'globex', 'stock');
    expect(await ask('Diff', gus, { ...request, impact: true })).toMatchObject({
      status: 200,
      body: {
        differences: [{ kind: 'resource' }, { kind: 'role' }, { kind: 'user' }, { kind: 'application' }],
        impact: { sessions: expect.anything() as unknown },
      },
    });
    expect(await ask('Apply', gus, request)).toMatchObject({ status: 200, body: { created: 4 } });
    expect(await ask('Apply', gus, request)).toMatchObject({ status: 200, body: { unchanged: true } });
    const id = await on.userId('globex', 'gus');
    expect((await on.actors('globex')).at(-1)).toEqual({ type: 'user', id, tenantId: 'globex' });
    const { body } = await ask('Get', gus, { owner: 'stock' });
    expect(body['document']).toMatch(/^owner: stock\ntenants:\n- id: globex\n  resources:\n/);
    const nothing = declaring({}, 'globex', 'stock');
    expect(await ask('Apply', gus, { ...nothing, allowDelete: true })).toMatchObject({
      body: { deleted: 4 },
    });
  });

  it('reaches no other tenant, by the request or by the document', async () => {
    for (const verb of ['Apply', 'Diff'] as const) {
      expect(await refusedBy(verb, gus, declaring(client('x'), 'acme'))).toMatchObject(
        refused('name globex in tenantId'),
      );
      const { document } = declaring(client('x'), 'acme');
      expect(await refusedBy(verb, gus, { document })).toMatchObject({
        status: 400,
        body: { message: expect.stringContaining('is another tenant than that of the request') as string },
      });
    }
    expect((await ask('Get', gus, { tenantId: 'acme' })).status).toBe(403);
  });

  it('gives the tenant no other issuer', async () => {
    const moved = declaring({ name: 'Globex', issuer: 'https://other.example' });
    const request = { ...moved, takeOver: true, allowAdministration: true };
    expect(await refusedBy('Apply', gus, request)).toMatchObject(
      refused('tenant globex: issuer: https://other.example needs an access token of the operator tenant'),
    );
  });
});

describe('a service account that may change applications alone', () => {
  const account = async () => on.tokenOfClient('globex', ['admin.applications.write']);

  it('declares those of its owner, beside another one that does the same', async () => {
    const token = await account();
    const made = await Promise.all(
      ['orders', 'parts'].map(async (owner) =>
        ask('Apply', token, declaring(client(`globex-${owner}`), 'globex', owner)),
      ),
    );
    expect(made).toMatchObject([{ body: { created: 1 } }, { body: { created: 1 } }]);
    const theirs = declaring(client('globex-parts', { name: 'Mine' }));
    expect(await refusedBy('Apply', token, { ...theirs, allowDelete: true })).toMatchObject({
      status: 400,
      body: {
        code: 'failed_precondition',
        message: expect.stringContaining('application globex-parts, of the owner "parts"') as string,
      },
    });
    const changed = declaring(client('globex-orders', { name: 'Orders' }));
    expect(await ask('Diff', token, changed)).toMatchObject({
      body: {
        differences: [{ kind: 'application', name: 'globex-orders', change: 'updated', keys: ['name'] }],
      },
    });
    expect(await ask('Apply', token, changed)).toMatchObject({ body: { updated: 1 } });
  });

  it('deletes nobody by a part of a document, and does not learn who is there', async () => {
    const token = await account();
    for (const name of ['gus', 'nobody']) {
      const part = { ...declaring({}), keptKinds: ['user'], deletedUsers: [name], allowDelete: true };
      expect(await refusedBy('Apply', token, part)).toMatchObject(refused('user needs admin.users.write'));
    }
  });

  it.each([
    ['tenant', { name: 'Globex' }, 'tenant needs admin.tenants.write'],
    ['resource', { resources: [{ audience: 'x', name: 'X' }] }, 'resource needs admin.resources.write'],
    ['role', { roles: ['clerk'] }, 'role needs admin.roles.write'],
    ['user', { users: [{ username: 'eve' }] }, 'user needs admin.users.write'],
    [
      'provider',
      { providers: [{ name: 'corp', issuer: 'https://corp.example', clientId: 'x', clientSecret: 'y' }] },
      'provider needs admin.tenants.write and admin.users.write',
    ],
  ] as const)(
    'is refused a document that declares a %s, by kind and scope',
    async (_kind, content, message) => {
      for (const verb of ['Apply', 'Diff'] as const)
        expect(
          await refusedBy(verb, await account(), declaring({ ...content, ...client('globex-new') })),
        ).toMatchObject(refused(message));
    },
  );

  it('is refused a document that deletes what it may not', async () => {
    const request = { ...declaring({}, 'globex', 'file'), allowDelete: true };
    expect(await refusedBy('Apply', await account(), request)).toMatchObject(
      refused('user needs admin.users.write'),
    );
  });

  it.each([
    ['a scope of the administration', { scopes: ['admin.users.write'] }, 'admin.users.write needs'],
    [
      'what is known of people',
      { claims: { pay: { attribute: 'pay', targets: ['idToken'] } } },
      'admin.users.read',
    ],
  ] as const)('gives no application %s', async (_what, fields, message) => {
    const request = { ...declaring(client('globex-new', fields)), allowAdministration: true };
    expect(await refusedBy('Apply', await account(), request)).toMatchObject(refused(message));
  });
});

describe('who may change people', () => {
  it('declares people, and learns no password of who administers, right or wrong', async () => {
    const ofPeople = await on.tokenOfClient('ops', ['admin.users.read', 'admin.users.write']);
    expect(await ask('Diff', ofPeople, declaring({ users: [{ username: 'eve' }] }, 'acme'))).toMatchObject({
      body: { differences: [{ kind: 'user', name: 'eve', change: 'created' }] },
    });
    const withPassword = (password: string) => ({
      ...declaring(
        { users: [{ username: 'root', password, roles: ['tessera.administrator'] }] },
        'ops',
        'desk',
      ),
      takeOver: true,
      allowAdministration: true,
    });
    const robot = await on.tokenOfClient('ops');
    expect(await ask('Apply', robot, withPassword('the password of root'))).toMatchObject({ status: 200 });
    const guesses = ['the password of root', 'another password'].map(withPassword);
    const answers = await Promise.all(
      guesses.map(async ({ allowAdministration: _, ...guess }) => refusedBy('Diff', ofPeople, guess)),
    );
    expect(answers[0]).toMatchObject(refused('user root: roles: tessera.administrator needs'));
    expect(answers[1]).toEqual(answers[0]);
  });
});

describe('a document of a tenant', () => {
  it('is written for those who read its kinds', async () => {
    expect((await ask('Get', auditor, {})).status).toBe(200);
    expect(await ask('Get', helper, {})).toMatchObject(refused('tenant needs admin.tenants.read'));
    expect((await ask('Get', helper, { kinds: ['user'] })).status).toBe(200);
    expect(await ask('Get', helper, { kinds: ['people'] })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('kinds') as string },
    });
  });

  it('is for operators whatever it has', async () => {
    const operator = local(DeclaredStateService, on.directory, 'operator', silentLog());
    const request = declaring({ users: [{ username: 'op' }], roles: ['op'] }, 'acme', 'op');
    expect(await operator.apply(request, call())).toMatchObject({ created: 2 });
    const robot = await on.tokenOfClient('ops');
    expect(await ask('Apply', robot, { ...request, allowDelete: true })).toMatchObject({
      body: { unchanged: true },
    });
    const fresh = declaring({ name: 'Fresh' }, 'fresh-one');
    expect(await ask('Apply', robot, fresh)).toMatchObject({ status: 200, body: { created: 1 } });
  });
});

describe('these tests', () => {
  it('fail where a server overlooks what its callers hold', async () => {
    const overlooking =
      (bearer: AuthenticateBearer): AuthenticateBearer =>
      async (token, context) => {
        const identity = await bearer(token, context);
        return { ...identity, principal: { ...identity.principal, scopes: everyScope } };
      };
    const routes = on.admin.routes.map((route) => {
      if (route.bearer === undefined) throw new Error(`${route.service.typeName} takes no access tokens`);
      return { ...route, bearer: overlooking(route.bearer) };
    });
    const at = await on.serve({ ...on.admin, routes });
    const token = await on.tokenOfClient('globex', ['admin.applications.write']);
    expect((await ask('Diff', token, declaring({ roles: ['canary'] }), at)).status).toBe(200);
  });
});
