import { Code } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
let count = 0;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** A directory with a tenant that a file declares with these lines. */
async function declared(...lines: string[]) {
  const directory = startRecords(database);
  const tenantId = `acme${(count += 1)}`;
  const document = [
    'tenants:',
    `  - id: ${tenantId}`,
    '    name: Acme',
    ...lines.map((line) => `    ${line}`),
  ]
    .join('\n')
    .replaceAll('TENANT', tenantId);
  const apply = async () =>
    directory.files.apply({ document, fileName: 'state.yaml', allowAdministration: true }, call());
  await apply();
  return { ...directory, tenantId, apply };
}

const console = (scopes: string) =>
  `applications: [{ clientId: TENANT-console, name: Console, type: public, grantTypes: [device_code], scopes: [${scopes}] }]`;

describe('the scopes of the administration API', () => {
  it('exist in every tenant without a declaration, for its audience', async () => {
    const { as, tenantId } = await declared(console('openid, admin.users.read'));
    const { application } = await as('token').getApplication({ clientId: `${tenantId}-console` }, call());
    expect(application?.scopes).toMatchObject([
      { name: 'openid', audience: '' },
      {
        name: 'admin.users.read',
        audience: 'urn:tessera:admin',
        description: 'See people',
        resourceName: expect.any(String) as string,
      },
    ]);
  });

  it('mean what a resource of the tenant says about its own of the same name', async () => {
    const { as, tenantId } = await declared(
      'resources: [{ audience: "https://api.TENANT.example", name: API, scopes: [admin.users.read] }]',
      console('admin.users.read, admin.users.write'),
    );
    const { application } = await as('token').getApplication({ clientId: `${tenantId}-console` }, call());
    expect(application?.scopes.map(({ audience }) => audience)).toEqual([
      `https://api.${tenantId}.example`,
      'urn:tessera:admin',
    ]);
  });

  it('have an audience that no tenant declares', async () => {
    const { api, tenantId } = await declared();
    const resource = { audience: 'urn:tessera:admin', name: 'Mine', scopes: [{ name: 'admin.all' }] };
    await expect(api.resources.create({ tenantId, resource }, call())).rejects.toMatchObject({
      code: Code.InvalidArgument,
      rawMessage: expect.stringContaining('is built in') as string,
    });
    await expect(declared('resources: [{ audience: "urn:tessera:admin", name: Mine }]')).rejects.toThrow(
      'is built in',
    );
  });
});

describe('the built-in roles', () => {
  it('are given to people without a declaration, and are no records', async () => {
    const { api, files, as, tenantId, apply } = await declared(
      'roles: [clerk]',
      'users: [{ username: ada, roles: [tessera.administrator, clerk] }]',
    );
    const [ada] = (await api.users.list({ tenantId }, call())).users;
    expect(ada?.roles).toEqual(['tessera.administrator', 'clerk']);
    const { userId = '' } = ada ?? {};
    expect((await as('token').getUser({ tenantId, userId }, call())).user?.roles).toEqual(ada?.roles);
    expect((await api.roles.list({ tenantId }, call())).roles.map(({ name }) => name)).toEqual(['clerk']);
    await expect(api.roles.get({ tenantId, name: 'tessera.administrator' }, call())).rejects.toMatchObject({
      code: Code.NotFound,
    });
    await expect(api.roles.delete({ tenantId, name: 'tessera.administrator' }, call())).rejects.toMatchObject(
      {
        code: Code.NotFound,
      },
    );
    expect((await apply()).tenants).toMatchObject([{ unchanged: true }]);
    expect(await files.written(tenantId, call())).toMatch(/roles:\n\s+- clerk\n\s+users:/);
  });

  it('do not keep a tenant from being deleted that nobody is in', async () => {
    const { api, tenantId } = await declared();
    const tenant = `${tenantId}-two`;
    await api.tenants.create({ tenantId: tenant, tenant: { name: 'Two' } }, call());
    const eve = { username: 'eve', roles: ['tessera.auditor'] };
    const { userId } = await api.users.create({ tenantId: tenant, user: eve }, call());
    await api.users.delete({ tenantId: tenant, userId }, call());
    await api.tenants.delete({ tenantId: tenant }, call());
    await expect(api.tenants.get({ tenantId: tenant }, call())).rejects.toMatchObject({
      code: Code.NotFound,
    });
  });

  it('have a prefix that no tenant declares', async () => {
    const { api, tenantId } = await declared();
    for (const name of ['tessera.administrator', 'tessera.mine'])
      await expect(api.roles.create({ tenantId, role: { name } }, call())).rejects.toMatchObject({
        code: Code.InvalidArgument,
      });
    await expect(declared('roles: [tessera.mine]')).rejects.toThrow('must not begin with tessera.');
    await expect(
      api.users.create({ tenantId, user: { username: 'eve', roles: ['tessera.mine'] } }, call()),
    ).rejects.toMatchObject({ code: Code.InvalidArgument });
  });
});
