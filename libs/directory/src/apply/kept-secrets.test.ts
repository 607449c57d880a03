import { ConnectError } from '@tessera/rpc';
import { testDatabase } from '@tessera/test-kit';
import type { Database } from '@tessera/stores';
import { beforeAll, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;

beforeAll(async () => {
  database = await testDatabase(migrations);
});

const application = (more: string) =>
  `tenants: [{ id: acme, name: Acme, applications: [{ clientId: acme-batch, name: Batch, grantTypes: [client_credentials], ${more} }] }]`;
const declared = 'type: confidential, secrets: [{ value: at-least-32-characters-of-secret-here }]';

it('an application whose secrets a file leaves out keeps those that it has, and one without any is refused', async () => {
  const { api, files } = startRecords(database);
  const apply = async (more: string) =>
    files.apply({ document: application(more), fileName: 'state.yaml' }, call()).then(
      ({ tenants }) => tenants[0]?.updated,
      (error: unknown) => (error instanceof ConnectError ? error.rawMessage : error),
    );
  const secretIds = async () => {
    const { secrets } = await api.applications.listSecrets(
      { tenantId: 'acme', clientId: 'acme-batch' },
      call(),
    );
    return secrets.map(({ secretId }) => secretId);
  };
  const needsOne = expect.stringContaining(
    'secrets: a confidential application needs a secret, publicKeys, jwksUri or trusts',
  ) as string;
  expect(await apply('type: confidential')).toEqual(needsOne);
  expect(await apply(declared)).toBe(0);
  const [first = ''] = await secretIds();
  const made = await api.applications.createSecret(
    { tenantId: 'acme', clientId: 'acme-batch', owner: 'file' },
    call(),
  );
  expect(await apply('type: confidential')).toBe(0);
  expect(await secretIds()).toEqual([first, made.secretId]);
  expect(await apply(declared)).toBe(1);
  expect(await secretIds()).toEqual([first]);
});
