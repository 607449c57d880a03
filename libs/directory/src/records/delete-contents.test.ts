import { Code, ConnectError } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

let made = 0;

/** A tenant of a file with more people than one call deletes, and one of each other kind. */
async function tenant({ people = 700, settings = {} } = {}) {
  const tenantId = `full${(made += 1)}`;
  const directory = startRecords(database, { settings });
  const users = Array.from({ length: people }, (_, at) => `{ username: u${at}, roles: [clerk] }`);
  const document = `
tenants:
  - id: ${tenantId}
    name: Full
    roles: [clerk]
    resources: [{ audience: 'https://api.${tenantId}.example', name: API, scopes: [${tenantId}.read], roles: [clerk] }]
    providers: [{ name: corp, issuer: 'https://corp.${tenantId}.example', clientId: t, clientSecret: a secret of the provider }]
    users: [${users.join(', ')}]
    applications:
      - { clientId: ${tenantId}-web, name: Web, type: public, grantTypes: [device_code], scopes: [${tenantId}.read], allowedRoles: [clerk] }
`;
  await directory.files.apply({ document, fileName: 'state.yaml' }, call());
  const { tenants } = directory.api;
  const request = { tenantId, force: true, takeOver: true };
  return {
    tenantId,
    ...directory.api,
    /** Deletes the next part. */
    next: async (fields: object = {}) => tenants.delete({ ...request, ...fields }, call()),
    events: async () => {
      const { rows } = await database.query<{ event: string; count: number }>({
        name: 'test.events_of_tenant',
        text: 'SELECT event, count(*)::int AS count FROM directory.audit_event WHERE tenant_id = $1 GROUP BY event',
        values: [tenantId],
      });
      return Object.fromEntries(rows.map(({ event, count }) => [event, count]));
    },
  };
}

const refused = (code: Code, message: RegExp) => ({
  code,
  rawMessage: expect.stringMatching(message) as string,
});
const all = { people: 700, applications: 1, resources: 1, roles: 1, providers: 1 };

describe('a tenant with what is in it (AIP-135)', () => {
  it('is deleted part by part, disabled from the first, each record with its audit row', async () => {
    const { tenants, tenantId, next, events } = await tenant();
    const other = await tenant({ people: 1 });
    expect(await next({ validateOnly: true })).toMatchObject({ contents: all, more: false });
    expect(await tenants.get({ tenantId }, call())).toMatchObject({ status: 'active' });

    const first = await next();
    expect(first).toMatchObject({ contents: { people: 0, applications: 1 }, more: true });
    expect(await tenants.get({ tenantId }, call())).toMatchObject({ status: 'disabled' });
    const parts = [first];
    while (parts.at(-1)?.more === true) parts.push(await next());
    expect(parts.at(-1)).toMatchObject({ more: false });
    for (const kind of ['people', 'applications', 'resources', 'roles', 'providers'] as const)
      expect([kind, parts.reduce((sum, { contents }) => sum + (contents?.[kind] ?? 0), 0)]).toEqual([
        kind,
        all[kind],
      ]);
    expect(parts.map(({ contents }) => contents?.people ?? 0)).toEqual([0, 500, 200, 0, 0, 0, 0, 0]);

    await expect(tenants.get({ tenantId }, call())).rejects.toMatchObject({ code: Code.NotFound });
    await expect(next()).rejects.toMatchObject({ code: Code.NotFound });
    expect(await events()).toMatchObject({ 'user.deleted': 700, 'client.deleted': 1, 'tenant.deleted': 1 });
    const { users } = await other.users.list({ tenantId: other.tenantId }, call());
    expect(users).toHaveLength(1);
  });

  it('is deleted once by many who ask at the same time', async () => {
    const { tenantId, tenants, next, events } = await tenant();
    const deleting = async () => {
      try {
        while ((await next()).more);
      } catch (error) {
        if (!(error instanceof ConnectError) || error.code !== Code.NotFound) throw error;
      }
    };
    await Promise.all(Array.from({ length: 5 }, deleting));
    await expect(tenants.get({ tenantId }, call())).rejects.toMatchObject({ code: Code.NotFound });
    expect(await events()).toMatchObject({ 'user.deleted': 700, 'tenant.deleted': 1 });
  });

  it('stays with all that it has unless it is asked for by its version, and by its owners', async () => {
    const { users, tenantId, next, tenants } = await tenant({ people: 2 });
    const stay = async (fields: object, code: Code, message: RegExp) => {
      await expect(next(fields)).rejects.toMatchObject(refused(code, message));
      expect((await users.list({ tenantId }, call())).users).toHaveLength(2);
      expect(await tenants.get({ tenantId }, call())).toMatchObject({ status: 'active' });
    };
    await stay({ etag: 'another' }, Code.Aborted, /has changed/);
    await stay({ takeOver: false }, Code.FailedPrecondition, /owner "file"/);
    await tenants.update({ tenantId, tenant: { name: 'Ours' }, takeOver: true }, call());
    await stay(
      { takeOver: false },
      Code.FailedPrecondition,
      /the owners "file"\. Delete them there, or take/,
    );
    await stay({ force: false }, Code.FailedPrecondition, /has records/);
    await expect(next({ takeOver: false, owner: 'file' })).rejects.toMatchObject(
      refused(Code.FailedPrecondition, /owner "api"/),
    );
  });

  it('is never the operator tenant, whose administrators would be gone before it', async () => {
    const { tenantId } = await tenant({ people: 1 });
    const { api } = startRecords(database, { settings: { TESSERA_OPERATOR_TENANT: tenantId } });
    for (const validateOnly of [true, false])
      await expect(
        api.tenants.delete({ tenantId, force: true, takeOver: true, validateOnly }, call()),
      ).rejects.toMatchObject(refused(Code.FailedPrecondition, /operator tenant/));
    expect((await api.users.list({ tenantId }, call())).users).toHaveLength(1);
  });
});
