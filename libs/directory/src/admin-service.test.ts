import { Status } from '@tessera/proto-gen/directory';
import { Code } from '@tessera/rpc';
import { testDatabase } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { call, startRecords } from './testing/start-records.ts';
import { migrations } from './wiring.ts';

it('a declared record is disabled by the calls of earlier command lines, and enabled by its owner alone', async () => {
  const { admin, api, as } = startRecords(await testDatabase(migrations));
  const declared = {
    id: 'owned',
    name: 'Acme',
    users: [{ username: 'ada' }],
    applications: [
      { clientId: 'tv', name: 'TV', type: 'public', grantTypes: ['device_code'], scopes: ['openid'] },
    ],
  };
  await admin.apply({ document: JSON.stringify({ tenants: [declared] }), fileName: 'state.yaml' }, call());
  const { user } = await as('device').findUser({ tenantId: 'owned', identifier: 'ada' }, call());
  const ids = { tenantId: 'owned', userId: user?.userId ?? '', clientId: 'tv' };
  const setUser = async (status: Status) => admin.setUserStatus({ ...ids, status }, call());
  const kinds = [
    ['user', setUser],
    ['application', async (status: Status) => admin.setApplicationStatus({ ...ids, status }, call())],
    ['tenant', async (status: Status) => admin.setTenantStatus({ ...ids, status }, call())],
  ] as const;
  for (const [kind, set] of kinds) {
    await set(Status.ACTIVE);
    await set(Status.DISABLED);
    await expect(set(Status.ACTIVE)).rejects.toMatchObject({
      code: Code.FailedPrecondition,
      rawMessage: `The ${kind} belongs to the owner "file". Change it there, or take it over by a command line of this version (enable --take-over).`,
    });
  }
  const statuses = async () => {
    const { application, tenant } = await as('token').getApplication(ids, call());
    return [(await as('token').getUser(ids, call())).user?.status, application?.status, tenant?.status];
  };
  expect(await statuses()).toEqual([Status.DISABLED, Status.DISABLED, Status.DISABLED]);

  const taken = { user: { userId: ids.userId, status: 'active' }, updateMask: { paths: ['status'] } };
  await api.users.update({ tenantId: 'owned', ...taken, takeOver: true }, call());
  await setUser(Status.DISABLED);
  await setUser(Status.ACTIVE);
  expect((await statuses())[0]).toBe(Status.ACTIVE);
});
