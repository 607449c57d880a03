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

/** A tenant whose application of the owner `teams/blue` has its own identifier among its audiences. */
async function start(entry = '') {
  const { files, api } = startRecords(database);
  const tenantId = `early${(count += 1)}`;
  const audience = `orders${count}`;
  const issuer = `https://${tenantId}.example`;
  await api.tenants.create({ tenantId, tenant: { name: 'Acme', issuer, endpoints: 'keycloak' } }, call());
  const application = {
    clientId: audience,
    name: 'Early',
    type: 'public',
    grantTypes: ['device_code'],
    audiences: [`${audience}${entry}`],
  };
  await api.applications.create({ tenantId, owner: 'teams/blue', application }, call());
  const resource = { audience, name: 'Orders', tokenType: 'at+jwt' };
  return {
    audience,
    create: async (owner: string, assignableBy: string[] = []) =>
      api.resources.create({ tenantId, owner, resource: { ...resource, assignableBy } }, call()),
    apply: async (owner: string, assignableBy: string[] = []) => {
      const resources = [{ ...resource, assignableBy }];
      const document = JSON.stringify({ owner, tenants: [{ id: tenantId, resources }] });
      return files.apply({ document, fileName: 'state.yaml' }, call());
    },
  };
}

describe.each(['create', 'apply'] as const)('a resource that comes by %s', (way) => {
  it.each(['', ':*'])(
    'is refused while an application of another owner has its audience%s',
    async (entry) => {
      const { audience, [way]: come } = await start(entry);
      for (const assignableBy of [[], ['owner'], ['others', 'k8s/*']])
        await expect(come('orders', assignableBy)).rejects.toMatchObject({
          code: Code.FailedPrecondition,
          rawMessage: expect.stringContaining(
            `is an audience of the application ${audience} of the owner "teams/blue", whose tokens would be good there`,
          ) as string,
        });
    },
  );

  it.each([['teams/blue'], ['teams/*'], ['tenant']])(
    'comes if its assignableBy names that owner: %s',
    async (named) => {
      const { [way]: come } = await start();
      await come('orders', [named]);
    },
  );
});

it('a resource comes if it has the owner of the application with its audience', async () => {
  const { create } = await start();
  await create('teams/blue');
});
