import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, local } from '@tessera/rpc';
import { silentLog } from '@tessera/test-kit';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { administered, call, type Administered } from './testing/administered.ts';

const tenantId = 'globex';
const audience = 'https://people.globex.example';
const clientId = 'globex-desk';
const secret = 'a secret of every client in this test';
const resources = ['admin.resources.read', 'admin.resources.write'];
const applications = ['admin.applications.read', 'admin.applications.write'];

/** The tenant has an API whose scope has the name of a built-in one, and an application that holds it. */
const state = `tenants:
  - id: ${tenantId}
    name: Globex
    issuer: https://login.globex.example
    resources: [{ audience: '${audience}', name: People, scopes: [people.read, admin.users.write] }]
    users: [{ username: gus, roles: [tessera.administrator] }]
    applications:
      - { clientId: globex-robot, name: Robot, type: confidential, secrets: [{ value: ${secret} }], grantTypes: [client_credentials], scopes: [${[...resources, ...applications].join(', ')}], owners: ['*'] }
      - { clientId: ${clientId}, name: Desk, type: confidential, secrets: [{ value: ${secret} }], grantTypes: [client_credentials], scopes: [admin.users.write] }
`;

let on: Administered;
beforeAll(async () => {
  on = await administered();
});

beforeEach(async () => {
  on.clock.set(Date.now());
  const document = { document: state, fileName: 'state.yaml', allowAdministration: true, allowDelete: true };
  await on.files.apply(document, call());
});

const asOperator = <S extends Parameters<typeof local>[0]>(service: S) =>
  local(service, on.directory, 'operator', silentLog());

/** The audience of what the application may do as `admin.users.write`. */
async function meant(): Promise<string | undefined> {
  const directory = local(DirectoryService, on.directory, 'token', silentLog());
  const { application } = await directory.getApplication({ clientId }, call());
  return application?.scopes.find(({ name }) => name === 'admin.users.write')?.audience;
}

const administrators = [
  ['an administrator of the tenant', 'globex'],
  ['an administrator of the operator', 'ops'],
] as const;

const losses = [
  ['Delete', { tenantId, audience }],
  ['Update', { tenantId, resource: { audience, scopes: [{ name: 'people.read' }] }, updateMask: 'scopes' }],
  ['Update', { tenantId, resource: { audience, name: 'People' }, updateMask: '*' }],
] as const;

describe('a scope with the name of a built-in one', () => {
  it.each(administrators)('is not taken from an API while applications hold it: by %s', async (_who, of) => {
    const token = await on.tokenOfClient(of, resources);
    for (const status of ['active', 'disabled']) {
      const change = { application: { clientId, status }, updateMask: { paths: ['status'] } };
      await asOperator(ApplicationsService).update({ tenantId, ...change, takeOver: true }, call());
      for (const [method, request] of losses) {
        const path = `tessera.admin.v1.ResourcesService/${method}`;
        const answer = await on.post(path, { ...request, takeOver: true }, token);
        expect(answer.body).toMatchObject({
          code: 'failed_precondition',
          message: expect.stringContaining(`application ${clientId}`) as string,
        });
        expect(await meant()).toBe(audience);
      }
    }
  });

  it('is not taken from an API while applications hold it: by the operator', async () => {
    const api = asOperator(ResourcesService);
    const refused = { code: Code.FailedPrecondition };
    await expect(api.delete({ tenantId, audience, takeOver: true }, call())).rejects.toMatchObject(refused);
    const without = { resource: { audience }, updateMask: { paths: ['scopes'] }, takeOver: true };
    await expect(api.update({ tenantId, ...without }, call())).rejects.toMatchObject(refused);
    expect(await meant()).toBe(audience);
  });

  it.each(administrators)(
    'comes back with a deleted application only by those who hold the built-in one: by %s',
    async (_who, of) => {
      await asOperator(ApplicationsService).delete({ tenantId, clientId, takeOver: true }, call());
      const undelete = async (token: string) =>
        on.post('tessera.admin.v1.ApplicationsService/Undelete', { tenantId, clientId }, token);
      const token = await on.tokenOfClient(of, [...resources, ...applications]);
      expect((await undelete(token)).body).toMatchObject({ code: 'permission_denied' });
      const deleted = await on.post(
        'tessera.admin.v1.ResourcesService/Delete',
        { tenantId, audience, takeOver: true },
        token,
      );
      expect(deleted).toMatchObject({ status: 200 });
      expect((await undelete(token)).body).toMatchObject({
        code: 'permission_denied',
        message: expect.stringContaining('admin.users.write') as string,
      });
      const holder = await on.tokenOfClient('ops', [...applications, 'admin.users.write']);
      expect(await undelete(holder)).toMatchObject({ status: 200 });
      expect(await meant()).toBe('urn:tessera:admin');
    },
  );
});

describe('who administers and was disabled', () => {
  const update = async (kind: string, record: object, token: string) =>
    on.post(
      `tessera.admin.v1.${kind}/Update`,
      { tenantId, ...record, updateMask: 'status', takeOver: true },
      token,
    );
  const denied = { code: 'permission_denied' };

  it('is made active only by those who hold as much', async () => {
    const userId = await on.userId(tenantId, 'gus');
    const person = (status: string) => ({ user: { userId, status } });
    const application = (status: string) => ({ application: { clientId: 'globex-robot', status } });
    const holder = await on.tokenOfClient('ops');
    await update('UsersService', person('disabled'), holder);
    await update('ApplicationsService', application('disabled'), holder);
    const ofPeople = await on.tokenOfClient('ops', ['admin.users.read', 'admin.users.write']);
    expect((await update('UsersService', person('active'), ofPeople)).body).toMatchObject(denied);
    const ofApplications = await on.tokenOfClient('ops', applications);
    expect((await update('ApplicationsService', application('active'), ofApplications)).body).toMatchObject(
      denied,
    );
    expect(await update('UsersService', person('active'), holder)).toMatchObject({ status: 200 });
    expect(await update('ApplicationsService', application('active'), holder)).toMatchObject({ status: 200 });
  });

  it('is made active with the tenant only by those who hold everything', async () => {
    const tenant = (status: string) => ({ tenant: { status } });
    const ofTenants = await on.tokenOfClient('ops', ['admin.tenants.read', 'admin.tenants.write']);
    expect(await update('TenantsService', tenant('disabled'), ofTenants)).toMatchObject({ status: 200 });
    expect((await update('TenantsService', tenant('active'), ofTenants)).body).toMatchObject(denied);
    expect((await update('TenantsService', tenant(''), ofTenants)).body).toMatchObject({
      status: 'disabled',
    });
    expect(await update('TenantsService', tenant('active'), await on.tokenOfClient('ops'))).toMatchObject({
      status: 200,
    });
    expect(await update('TenantsService', tenant('active'), ofTenants)).toMatchObject({ status: 200 });
  });

  it('is disabled or deleted with the operator tenant only by those who hold everything', async () => {
    const ofTenants = await on.tokenOfClient('ops', ['admin.tenants.read', 'admin.tenants.write']);
    const ops = { tenantId: 'ops', takeOver: true };
    const disabling = { ...ops, tenant: { status: 'disabled' }, updateMask: 'status' };
    for (const [method, request] of [
      ['Update', disabling],
      ['Delete', ops],
    ] as const)
      expect(
        (await on.post(`tessera.admin.v1.TenantsService/${method}`, request, ofTenants)).body,
      ).toMatchObject({
        ...denied,
        message: expect.stringContaining('ops would end the administration of every tenant') as string,
      });
    const everything = await on.tokenOfClient('ops');
    expect((await on.post('tessera.admin.v1.TenantsService/Delete', ops, everything)).body).toMatchObject({
      code: 'failed_precondition',
    });
  });

  it('administers at another issuer only if that is given by those who hold everything', async () => {
    const move = async (issuer: string, token: string) =>
      on.post(
        'tessera.admin.v1.TenantsService/Update',
        { tenantId, tenant: { issuer }, updateMask: 'issuer', takeOver: true },
        token,
      );
    const ofTenants = await on.tokenOfClient('ops', ['admin.tenants.read', 'admin.tenants.write']);
    const [here, elsewhere] = ['https://login.globex.example', 'https://elsewhere.globex.example'];
    expect((await move(elsewhere, ofTenants)).body).toMatchObject(denied);
    expect(await move(here, ofTenants)).toMatchObject({ status: 200 });
    expect(await move('', ofTenants)).toMatchObject({ status: 200 });
    expect((await move(here, ofTenants)).body).toMatchObject(denied);
    expect(await move(elsewhere, await on.tokenOfClient('ops'))).toMatchObject({ status: 200 });
    const created = {
      tenantId: 'umbrella',
      tenant: { name: 'Umbrella', issuer: 'https://umbrella.example' },
    };
    expect(await on.post('tessera.admin.v1.TenantsService/Create', created, ofTenants)).toMatchObject({
      status: 200,
    });
  });
});
