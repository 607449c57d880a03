import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { call, startRecords } from '../testing/start-records.ts';
import { migrations } from '../wiring.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** That it is right is shown on random states by apps/standalone, where everybody is who has something that ends. */
describe('the impact of a plan', () => {
  it('names a hundred people and counts all', async () => {
    const { files } = startRecords(database);
    const numbers = Array.from({ length: 105 }, (_, at) => String(at).padStart(3, '0'));
    const documented = (status: string) => ({
      document: JSON.stringify({
        tenants: [{ id: 'many', name: 'Many', status, users: numbers.map((username) => ({ username })) }],
      }),
      fileName: 'state.yaml',
    });
    await files.apply(documented('active'), call());
    const { tenants } = await files.diff({ ...documented('disabled'), impact: true }, call());
    expect(tenants[0]?.impact).toMatchObject({
      people: 105,
      usernames: numbers.slice(0, 100),
      applications: 0,
    });
    const [unasked] = (await files.diff(documented('disabled'), call())).tenants;
    expect(unasked?.impact).toBeUndefined();
  });

  it('is the same for one record, asked for when it is only validated', async () => {
    const { files, api } = startRecords(database);
    const document = JSON.stringify({
      tenants: [{ id: 'one', name: 'One', users: [{ username: 'ada' }, { username: 'bob' }] }],
    });
    await files.apply({ document, fileName: 'state.yaml' }, call());
    const { users } = await api.users.list({ tenantId: 'one' }, call());
    const [ada] = users;
    const userId = ada?.userId ?? '';
    const asked = { tenantId: 'one', validateOnly: true, impact: true, takeOver: true };
    const ofUpdate = async (user: object) =>
      (await api.users.update({ ...asked, user: { userId, ...user } }, call())).impact;
    const ends = {
      people: 1,
      usernames: ['ada'],
      applications: 0,
      ends: { tenantId: 'one', userIds: [userId] },
    };
    expect(await ofUpdate({ status: 'disabled' })).toMatchObject(ends);
    expect(await ofUpdate({ password: 'correct horse battery staple' })).toMatchObject(ends);
    expect(await ofUpdate({ name: 'Ada' })).toMatchObject({ people: 0, ends: { userIds: [] } });
    expect((await api.users.delete({ ...asked, userId }, call())).impact).toMatchObject(ends);
    const disabled = await api.tenants.update({ ...asked, tenant: { status: 'disabled' } }, call());
    expect(disabled.impact).toMatchObject({
      people: 2,
      usernames: ['ada', 'bob'],
      ends: { tenantId: 'one', everything: true },
    });
    const unasked = await api.users.update({ ...asked, impact: false, user: { userId, name: 'A' } }, call());
    expect(unasked.impact).toBeUndefined();
    expect((await api.users.get({ tenantId: 'one', userId }, call())).etag).toBe(ada?.etag);
  });
});
