import { Code, ConnectError, fieldViolations } from '@tessera/rpc';
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

/** A directory with a tenant of a file. */
async function start() {
  const { api, files, personWith } = startRecords(database);
  const tenantId = `t${(count += 1)}`;
  const documentOf = (users: string) => `
tenants:
  - id: ${tenantId}
    name: Acme
    roles: [clerk, manager]
    resources: [{ audience: https://api.${tenantId}.example, name: API, scopes: [read, write] }]
    users: [${users}]
`;
  const declared = (users: string) => ({ document: documentOf(users), fileName: 'state.yaml' });
  await files.apply(declared('{ username: ada, email: ada@acme.example, roles: [clerk, manager] }'), call());
  const { users } = await api.users.list({ tenantId, search: 'ada' }, call());
  return {
    api,
    files,
    tenantId,
    ada: users[0]?.userId ?? '',
    declared,
    personWith: async (identifier: string, password: string) => personWith(tenantId, identifier, password),
    events: async () => {
      const { rows } = await database.query<{ event: string }>({
        name: 'test.events',
        text: `SELECT event FROM directory.audit_event WHERE tenant_id = $1 AND event ~ 'restored|created|deleted'
                ORDER BY recorded_at, event`,
        values: [tenantId],
      });
      return rows.map(({ event }) => event);
    },
  };
}

async function refusal(work: Promise<unknown>): Promise<readonly string[]> {
  const error: unknown = await work.then(
    () => 'nothing',
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ConnectError)) throw new Error('It was not refused.', { cause: error });
  return [Code[error.code], ...fieldViolations(error).map(({ field }) => field)];
}

describe('a person who was deleted', () => {
  it('is listed and comes back with the same id and password, owner and fields, without roles that are gone', async () => {
    const { api, tenantId, personWith, events } = await start();
    const password = 'a passphrase that comes back';
    const given = {
      username: 'Eve',
      email: 'eve@acme.example',
      roles: ['manager', 'boss', 'tessera.auditor'],
      status: 'active',
      givenName: 'Eve',
      attributes: { team: ['one'] },
      password,
    };
    await api.roles.create({ tenantId, role: { name: 'boss' } }, call());
    const { etag: _, ...eve } = await api.users.create({ tenantId, user: given }, call());
    await api.users.delete({ tenantId, userId: eve.userId }, call());
    await api.roles.delete({ tenantId, name: 'boss' }, call());
    expect(await personWith('eve', password)).toBeUndefined();
    const { users } = await api.users.listDeleted({ tenantId, search: 'EV' }, call());
    expect(users).toMatchObject([{ userId: eve.userId, username: 'Eve', deleteTime: expect.anything() }]);
    expect((await api.users.listDeleted({ tenantId, search: 'x' }, call())).users).toEqual([]);

    const { userId } = eve;
    const tried = await api.users.undelete({ tenantId, userId, validateOnly: true }, call());
    expect(tried).toMatchObject({ userId, roles: ['manager', 'tessera.auditor'] });
    expect(await refusal(api.users.get({ tenantId, userId }, call()))).toEqual(['NotFound']);
    await api.roles.create({ tenantId, role: { name: 'boss' } }, call());
    const asTried = { tenantId, userId, etag: tried.etag };
    expect(await refusal(api.users.undelete(asTried, call()))).toEqual(['Aborted']);
    await api.roles.delete({ tenantId, name: 'boss' }, call());
    const restored = await api.users.undelete(asTried, call());
    expect(restored).toEqual({
      ...eve,
      roles: ['manager', 'tessera.auditor'],
      etag: restored.etag,
      updateTime: restored.updateTime,
    });
    expect(await api.users.get({ tenantId, userId }, call())).toEqual(restored);
    expect(await personWith('eve@acme.example', password)).toBe(userId);
    expect(await refusal(api.users.undelete({ tenantId, userId }, call()))).toEqual(['AlreadyExists']);
    expect((await events()).slice(-3)).toEqual(['user.created', 'user.deleted', 'user.restored']);
  });

  it('stays deleted if somebody else has the user name or e-mail address now', async () => {
    const { api, tenantId, ada } = await start();
    await api.users.delete({ tenantId, userId: ada, takeOver: true }, call());
    const user = { username: 'ADA', email: 'Ada@acme.example' };
    expect(await refusal(api.users.create({ tenantId, user }, call()))).toEqual(['FailedPrecondition']);
    const other = await api.users.create({ tenantId, user, newPerson: true }, call());
    expect(other.userId).not.toBe(ada);
    expect(await refusal(api.users.undelete({ tenantId, userId: ada }, call()))).toEqual([
      'AlreadyExists',
      'user.username',
      'user.email',
    ]);
    await api.users.delete({ tenantId, userId: other.userId }, call());
    expect(await api.users.undelete({ tenantId, userId: ada }, call())).toMatchObject({ owner: 'file' });
  });

  it('is told apart from a new person of that name in a file, which says so', async () => {
    const { api, files, tenantId, ada, declared } = await start();
    await files.apply({ ...declared(''), allowDelete: true }, call());
    const again = declared('{ username: Ada }, { username: bob }');
    const [diff] = (await files.diff(again, call())).tenants;
    expect(diff?.differences.map(({ name, wasDeleted }) => [name, wasDeleted])).toEqual([
      ['Ada', true],
      ['bob', false],
    ]);
    const { tenants } = await files.apply(again, call());
    expect(tenants).toMatchObject([{ created: 2, newPeople: ['Ada'] }]);
    const { users } = await api.users.list({ tenantId, search: 'ada' }, call());
    expect(users.map(({ userId }) => userId)).not.toContain(ada);
    expect((await files.apply(again, call())).tenants).toMatchObject([{ unchanged: true, newPeople: [] }]);
  });

  it('gets the defaults of fields that an earlier version did not keep', async () => {
    const { api, tenantId, ada } = await start();
    await api.users.delete({ tenantId, userId: ada, takeOver: true }, call());
    await database.query({
      name: 'test.earlier_version',
      text: `UPDATE directory.deleted_record SET record = record - 'phoneNumber' - 'attributes' - 'status' - 'standardClaims' || '{"later": 1}'
              WHERE tenant_id = $1`,
      values: [tenantId],
    });
    expect((await api.users.listDeleted({ tenantId }, call())).users).toHaveLength(1);
    expect(await api.users.undelete({ tenantId, userId: ada }, call())).toMatchObject({
      username: 'ada',
      phoneNumber: '',
      status: 'active',
    });
  });

  it('is unknown to other tenants', async () => {
    const [{ api, tenantId, ada }, other] = [await start(), await start()];
    await api.users.delete({ tenantId, userId: ada, takeOver: true }, call());
    const request = { tenantId: other.tenantId, userId: ada };
    expect(await refusal(api.users.undelete(request, call()))).toEqual(['NotFound']);
    expect((await api.users.listDeleted({ tenantId: other.tenantId }, call())).users).toEqual([]);
    expect(await refusal(api.users.listDeleted({ tenantId: 'nowhere' }, call()))).toEqual(['NotFound']);
  });
});

describe('an application that was deleted', () => {
  it('comes back with its secrets, without scopes, audiences and roles that are gone', async () => {
    const { api, tenantId, events } = await start();
    const clientId = `${tenantId}-desk`;
    const audience = `https://orders.${tenantId}.example`;
    const resource = { audience, name: 'Orders', scopes: [{ name: 'orders' }] };
    await api.resources.create({ tenantId, resource }, call());
    await api.roles.create({ tenantId, role: { name: 'boss' } }, call());
    const application = {
      clientId,
      name: 'Desk',
      type: 'confidential',
      grantTypes: ['device_code'],
      scopes: ['openid', 'orders', 'read', 'admin.roles.read'],
      defaultScopes: ['openid', 'orders'],
      introspectAudiences: [audience],
      allowedRoles: ['boss', 'clerk'],
      roles: ['boss', 'clerk'],
      lifetimes: { accessToken: 60 },
    };
    await api.applications.create({ tenantId, application }, call());
    const { secretId } = await api.applications.createSecret({ tenantId, clientId }, call());
    const before = await api.applications.get({ tenantId, clientId }, call());
    await api.applications.delete({ tenantId, clientId }, call());
    await api.resources.delete({ tenantId, audience }, call());
    await api.roles.delete({ tenantId, name: 'boss' }, call());
    const { applications } = await api.applications.listDeleted({ tenantId, pageSize: 1 }, call());
    expect(applications).toMatchObject([{ clientId, name: 'Desk', deleteTime: expect.anything() }]);

    const restored = await api.applications.undelete({ tenantId, clientId }, call());
    expect(restored).toEqual({
      ...before,
      // What it is for is answered where it is read.
      kind: '',
      scopes: ['openid', 'read', 'admin.roles.read'],
      defaultScopes: ['openid'],
      introspectAudiences: [],
      allowedRoles: ['clerk'],
      roles: ['clerk'],
      etag: restored.etag,
      updateTime: restored.updateTime,
    });
    const { secrets } = await api.applications.listSecrets({ tenantId, clientId }, call());
    expect(secrets.map((secret) => secret.secretId)).toEqual([secretId]);
    expect((await events()).at(-1)).toBe('client.restored');
    expect(await refusal(api.applications.undelete({ tenantId, clientId }, call()))).toEqual([
      'AlreadyExists',
    ]);
  });

  it('stays deleted while none of the roles is left that it was for, as everybody could use it', async () => {
    const { api, tenantId } = await start();
    const clientId = `${tenantId}-tv`;
    await api.roles.create({ tenantId, role: { name: 'boss' } }, call());
    const application = {
      clientId,
      name: 'TV',
      type: 'public',
      grantTypes: ['device_code'],
      allowedRoles: ['boss'],
    };
    await api.applications.create({ tenantId, application }, call());
    await api.applications.delete({ tenantId, clientId }, call());
    await api.roles.delete({ tenantId, name: 'boss' }, call());
    await expect(api.applications.undelete({ tenantId, clientId }, call())).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage:
        'The application is for people with a role that is gone: boss. Create one of these roles first.',
    });
    await api.roles.create({ tenantId, role: { name: 'boss' } }, call());
    expect(await api.applications.undelete({ tenantId, clientId }, call())).toMatchObject({
      allowedRoles: ['boss'],
    });
  });

  it('stays deleted while none of the roles is left that its tokens may name, as they would name all', async () => {
    const { api, tenantId } = await start();
    const clientId = `${tenantId}-tv`;
    await api.roles.create({ tenantId, role: { name: 'boss' } }, call());
    const application = {
      clientId,
      name: 'TV',
      type: 'public',
      grantTypes: ['device_code'],
      roles: ['boss'],
    };
    await api.applications.create({ tenantId, application }, call());
    await api.applications.delete({ tenantId, clientId }, call());
    await api.roles.delete({ tenantId, name: 'boss' }, call());
    expect(await refusal(api.applications.undelete({ tenantId, clientId }, call()))).toEqual([
      'FailedPrecondition',
    ]);
    await api.roles.create({ tenantId, role: { name: 'boss' } }, call());
    expect(await api.applications.undelete({ tenantId, clientId }, call())).toMatchObject({
      roles: ['boss'],
    });
  });

  it('stays deleted while its client ID is the audience of JWTs', async () => {
    const { api, tenantId } = await start();
    const clientId = `${tenantId}-tv`;
    const application = { clientId, name: 'TV', type: 'public', grantTypes: ['device_code'] };
    await api.applications.create({ tenantId, application }, call());
    await api.applications.delete({ tenantId, clientId }, call());
    const resource = { audience: clientId, name: 'Same', tokenType: 'JWT' };
    await api.resources.create({ tenantId, resource }, call());
    expect(await refusal(api.applications.undelete({ tenantId, clientId }, call()))).toEqual([
      'InvalidArgument',
      'application.clientId',
    ]);
  });
});
