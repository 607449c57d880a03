import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { UsersService } from '@tessera/proto-gen/admin-users';
import { local } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { administered, call, type Administered, type Answer } from './testing/administered.ts';

const tenantId = 'globex';
const teams = ['orders', 'billing'] as const;
type Team = (typeof teams)[number];
const otherThan = (team: Team): Team => (team === 'orders' ? 'billing' : 'orders');

let on: Administered;
let tokens: Readonly<Record<Team, string>>;
beforeAll(async () => {
  on = await administered();
  on.clock.set(Date.now());
  const tokenOf = async (team: Team) =>
    on.tokenOfClient(tenantId, undefined, { clientId: `globex-team-${team}` });
  tokens = { orders: await tokenOf('orders'), billing: await tokenOf('billing') };
});

async function ask(team: Team, verb: string, fields: object, service = ApplicationsService.typeName) {
  return on.post(`${service}/${verb}`, { tenantId, ...fields }, tokens[team]);
}
const application = (clientId: string, name: string) => ({
  clientId,
  name,
  type: 'public',
  grantTypes: ['device_code'],
  scopes: ['openid'],
});
const document = (owner: string, clientId: string, name: string) => ({
  document: JSON.stringify({
    owner,
    tenants: [{ id: tenantId, applications: [application(clientId, name)] }],
  }),
});
const apply = async (team: Team, fields: object) => ask(team, 'Apply', fields, DeclaredStateService.typeName);
const refusedFor = (owner: string) => ({
  status: 403,
  body: {
    code: 'permission_denied',
    message: expect.stringContaining(`the owner "${owner}"`) as string,
  },
});

async function applications() {
  const reader = local(ApplicationsService, on.directory, 'operator', silentLog());
  return (await reader.list({ tenantId, pageSize: 1000 }, call())).applications;
}

describe('two teams of one tenant, each with a service account that is bound to its owner', () => {
  it('change no record of each other in 200 writes each, by call and by file at once', async () => {
    const written = teams.map(async (team) => {
      const other = otherThan(team);
      const own = `${team}-by-call`;
      const named = { owner: team };
      expect(await ask(team, 'Create', { application: application(own, team), ...named })).toMatchObject({
        status: 200,
        body: { owner: team },
      });
      expect(await apply(team, document(`${team}/file`, `${team}-by-file`, team))).toMatchObject({
        status: 200,
      });
      const answers: { readonly expected: object; readonly answer: Answer }[] = [];
      const expecting = async (expected: object, answer: Promise<Answer>) =>
        answers.push({ expected, answer: await answer });
      for (let turn = 0; turn < 40; turn += 1) {
        const name = `${team} ${turn}`;
        const theirs = { clientId: `${other}-by-call` };
        const seized = { application: { ...theirs, name }, takeOver: true, ...named };
        await expecting(
          { status: 200 },
          ask(team, 'Update', { application: { clientId: own, name }, ...named }),
        );
        await expecting({ status: 200 }, apply(team, document(`${team}/file`, `${team}-by-file`, name)));
        await expecting(refusedFor(other), ask(team, 'Update', seized));
        await expecting(refusedFor(other), ask(team, 'Delete', { ...theirs, takeOver: true, ...named }));
        await expecting(
          refusedFor(`${other}/file`),
          apply(team, document(`${other}/file`, `${other}-by-file`, name)),
        );
      }
      return answers;
    });
    for (const { answer, expected } of (await Promise.all(written)).flat())
      expect(answer).toMatchObject(expected);
    const found = (await applications()).filter(({ clientId }) => /-by-/.test(clientId));
    expect(found.map(({ clientId, owner, name }) => [clientId, owner, name])).toEqual([
      ['billing-by-call', 'billing', 'billing 39'],
      ['billing-by-file', 'billing/file', 'billing 39'],
      ['orders-by-call', 'orders', 'orders 39'],
      ['orders-by-file', 'orders/file', 'orders 39'],
    ]);
  });

  it('take over no record of each other by a file, and compare none', async () => {
    const request = {
      ...document('orders/file', 'billing-by-file', 'mine'),
      takeOver: true,
    };
    const before = await on.everything();
    for (const verb of ['Apply', 'Diff'])
      expect(await ask('orders', verb, request, DeclaredStateService.typeName)).toMatchObject(
        refusedFor('billing/file'),
      );
    expect(await on.everything()).toBe(before);
  });

  it('write no record as `api`, and bind no application to others', async () => {
    const before = await on.everything();
    expect(
      await ask('orders', 'Create', { application: application('orders-x', 'x'), owner: 'api' }),
    ).toMatchObject(refusedFor('api'));
    const robot = { ...application('orders-robot', 'x'), owners: ['billing'] };
    expect(await ask('orders', 'Create', { application: robot, owner: 'orders' })).toMatchObject({
      status: 403,
      body: { message: expect.stringContaining('owners: billing needs') as string },
    });
    expect(await on.everything()).toBe(before);
  });
});

describe('a request', () => {
  it('that says the owner in the record is refused, unless it is the one that it has', async () => {
    const said = { ...application('orders-said', 'x'), owner: 'billing' };
    expect(await ask('orders', 'Create', { application: said, owner: 'orders' })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('application.owner') as string },
    });
    const own = { ...said, owner: 'orders' };
    expect(await ask('orders', 'Create', { application: own, owner: 'orders' })).toMatchObject({
      status: 200,
    });
  });
});

describe('a scope of an API', () => {
  it('is given without the right to change APIs as far as the API says it, by call and by file', async () => {
    const resources = local(ResourcesService, on.directory, 'operator', silentLog());
    const audience = 'https://stock.globex.example';
    const resource = { audience, name: 'Stock', scopes: [{ name: 'stock.read' }], assignableBy: ['orders'] };
    await resources.create({ tenantId, resource }, call());
    const narrow = async (team: Team) =>
      on.tokenOfClient(tenantId, ['admin.applications.write'], { clientId: `globex-team-${team}` });
    for (const [team, status] of [
      ['orders', 200],
      ['billing', 403],
    ] as const) {
      const token = await narrow(team);
      const reading = { ...application(`${team}-reads`, team), scopes: ['openid', 'stock.read'] };
      const made = { tenantId, application: reading, owner: team };
      expect(await on.post(`${ApplicationsService.typeName}/Create`, made, token)).toMatchObject({ status });
      const declared = { ...reading, clientId: `${team}-reads-too` };
      const file = { owner: team, tenants: [{ id: tenantId, applications: [declared] }] };
      const asked = { tenantId, document: JSON.stringify(file), allowDelete: true };
      expect(await on.post(`${DeclaredStateService.typeName}/Apply`, asked, token)).toMatchObject({ status });
    }
  });
});

describe('a role of a team', () => {
  const people = async (team: Team, verb: string, fields: object) =>
    ask(team, verb, fields, UsersService.typeName);
  const declaring = (roles: readonly string[], given: readonly string[]) => ({
    document: JSON.stringify({
      owner: 'orders/people',
      tenants: [{ id: tenantId, roles, users: [{ username: 'orders-declared', roles: given }] }],
    }),
  });
  const refusal = {
    status: 403,
    body: {
      code: 'permission_denied',
      message: expect.stringContaining(
        'roles: invoice-approver needs an application whose `owners` have billing',
      ) as string,
    },
  };

  it('is given to people by that team alone, by call and by file', async () => {
    const made = await ask(
      'billing',
      'Create',
      { role: { name: 'invoice-approver' }, owner: 'billing' },
      RolesService.typeName,
    );
    expect(made).toMatchObject({ status: 200, body: { owner: 'billing' } });
    const approver = (username: string) => ({ username, roles: ['invoice-approver'] });
    const own = await people('orders', 'Create', { user: { username: 'orders-ada' }, owner: 'orders' });
    expect(own).toMatchObject({ status: 200 });
    const { userId } = own.body;

    const before = await on.everything();
    expect(await people('orders', 'Create', { user: approver('orders-eve'), owner: 'orders' })).toMatchObject(
      refusal,
    );
    const promoted = { user: { userId, roles: ['invoice-approver'] }, owner: 'orders' };
    expect(await people('orders', 'Update', promoted)).toMatchObject(refusal);
    for (const verb of ['Apply', 'Diff'])
      expect(
        await ask('orders', verb, declaring([], ['invoice-approver']), DeclaredStateService.typeName),
      ).toMatchObject(refusal);
    expect(await on.everything()).toBe(before);

    expect(
      await people('billing', 'Create', { user: approver('billing-ada'), owner: 'billing' }),
    ).toMatchObject({ status: 200 });
    expect(await apply('orders', declaring(['picker'], ['picker']))).toMatchObject({ status: 200 });
  });

  it('that an administrator gave stays, and comes back by that team alone', async () => {
    const everybodys = await on.tokenOfClient(tenantId, undefined, { clientId: 'globex-robot' });
    const user = { username: 'orders-bob', roles: ['invoice-approver'] };
    const made = await on.post(
      `${UsersService.typeName}/Create`,
      { tenantId, user, owner: 'orders' },
      everybodys,
    );
    expect(made).toMatchObject({ status: 200, body: { owner: 'orders' } });
    const { userId } = made.body;
    const renamed = { user: { userId, name: 'Bob', roles: ['invoice-approver'] }, owner: 'orders' };
    expect(await people('orders', 'Update', renamed)).toMatchObject({ status: 200 });
    expect(await people('orders', 'Delete', { userId, owner: 'orders' })).toMatchObject({ status: 200 });
    expect(await people('orders', 'Undelete', { userId })).toMatchObject(refusal);
    const undelete = { tenantId, userId };
    expect(await on.post(`${UsersService.typeName}/Undelete`, undelete, everybodys)).toMatchObject({
      status: 200,
    });
  });
});
