import { openDatabase } from '@tessera/stores';
import { atEndOfFile, newDatabaseUrl } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

it('a file that a store cut off after its first tenant is not said to be unapplied', async () => {
  const url = await newDatabaseUrl(migrations);
  const [patient, impatient] = [
    await openDatabase({ url, statementTimeoutMs: 60_000 }),
    await openDatabase({ url, statementTimeoutMs: 3_000 }),
  ];
  atEndOfFile(() => Promise.all([patient.close(), impatient.close()]));
  const ids = ['first', 'second'];
  const file = (name: string) => ({
    document: JSON.stringify({ tenants: ids.map((id) => ({ id, name })) }),
    fileName: 'state.yaml',
  });
  const { files, api } = startRecords(patient);
  await files.apply(file('Before'), call());
  const [held, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const holding = patient.transaction(async (tx) => {
    await tx.query({
      name: 'test.hold_tenant',
      text: `SELECT FROM directory.tenant WHERE tenant_id = 'second' FOR UPDATE`,
    });
    held.resolve();
    await over.promise;
  });
  await held.promise;
  const answer: unknown = await startRecords(impatient)
    .files.apply(file('After'), call())
    .catch((error: unknown) => error);
  over.resolve();
  await holding;
  expect(answer).toMatchObject({
    code: 'temporarily_unavailable',
    message: expect.stringContaining('It is not known whether this was done') as string,
  });
  const names = await Promise.all(
    ids.map(async (tenantId) => (await api.tenants.get({ tenantId }, call())).name),
  );
  expect(names).toEqual(['After', 'Before']);
});
