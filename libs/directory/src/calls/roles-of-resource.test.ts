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

/** A tenant whose application `app` has these audiences and scopes, and which has the resource `orders` if asked. */
async function start({ audiences, scopes = [] }: { audiences: string[]; scopes?: string[] }, isThere = true) {
  const { api } = startRecords(database);
  const tenantId = `limits${(count += 1)}`;
  const issuer = `https://${tenantId}.example`;
  await api.tenants.create({ tenantId, tenant: { name: 'Acme', issuer, endpoints: 'keycloak' } }, call());
  await api.roles.create({ tenantId, role: { name: 'clerk' } }, call());
  const orders = { audience: 'orders', name: 'Orders', scopes: [{ name: 'orders.read' }] };
  if (isThere) await api.resources.create({ tenantId, resource: orders }, call());
  const app = {
    clientId: `app-${tenantId}`,
    name: 'App',
    type: 'public',
    grantTypes: ['device_code'],
    audiences,
    scopes,
  };
  await api.applications.create({ tenantId, application: app }, call());
  const limited = { tenantId, resource: { ...orders, roles: ['clerk'] } };
  return {
    clientId: app.clientId,
    createUnlimited: async () => api.resources.create({ tenantId, resource: orders }, call()),
    createLimited: async () => api.resources.create(limited, call()),
    limit: async () => api.resources.update({ ...limited, updateMask: { paths: ['roles'] } }, call()),
  };
}

describe('the roles of a resource', () => {
  const refusedFor = (clientId: string) => ({
    code: Code.FailedPrecondition,
    rawMessage: expect.stringContaining(`application ${clientId},`) as string,
  });

  it.each(['orders', 'orders:*'])(
    'are refused while an application has %s among its audiences without a scope of it',
    async (entry) => {
      const before = await start({ audiences: [entry] }, false);
      await expect(before.createLimited()).rejects.toMatchObject(refusedFor(before.clientId));
      expect((await before.createUnlimited()).roles).toEqual([]);
      await expect(before.limit()).rejects.toMatchObject(refusedFor(before.clientId));
    },
  );

  it.each([
    { audiences: ['orders', 'orders:*'], scopes: ['orders.read'] },
    { audiences: ['account', 'orders.old:*'] },
  ])('limit every token with its audience of an application with %j', async (given) => {
    const { limit } = await start(given);
    expect((await limit()).roles).toEqual(['clerk']);
  });
});
