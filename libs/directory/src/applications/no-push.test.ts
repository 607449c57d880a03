import { readFile } from 'node:fs/promises';
import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

const document = (name: string) => `tenants:
  - id: acme
    name: Acme
    applications:
      - { clientId: box, name: ${name}, type: confidential, secrets: [{ value: ${'s'.repeat(40)} }],
          grantTypes: [ciba], scopes: [openid], ciba: { approval: page, delivery: ping, notificationEndpoint: 'https://box.example/ping' } }
`;

it('lets an application change that version 0.1 stored with the push delivery of CIBA Core §5', async () => {
  const database = await testDatabase(migrations);
  const { as, files } = startRecords(database, {});
  const apply = async (name: string) =>
    files.apply({ document: document(name), fileName: 'state.yaml' }, call());
  const run = async (name: string, text: string) => database.query({ name, text });
  await apply('Box');
  await run('test.push', `UPDATE directory.application SET ciba_delivery = 'push'`);
  await run('test.no_push', await readFile(new URL('0080_no_push.sql', migrations.directory), 'utf8'));
  const { application } = await as('device').getApplication({ clientId: 'box' }, call());
  expect(application?.ciba?.delivery).toBe('poll');
  await apply('Blue box');
});
