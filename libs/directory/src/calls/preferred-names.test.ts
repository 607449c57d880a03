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

/** A tenant that a file declares, with people of the API besides. */
async function world() {
  const { files, api } = startRecords(database);
  const tenantId = `named${(count += 1)}`;
  const apply = async (users: readonly object[], more: object = {}) =>
    files.apply(
      { document: JSON.stringify({ tenants: [{ id: tenantId, users, ...more }] }), fileName: 'state.yaml' },
      call(),
    );
  await api.tenants.create({ tenantId, tenant: { name: 'Acme' } }, call());
  const make = async (user: object) => api.users.create({ tenantId, user }, call());
  return { api, tenantId, apply, make };
}

const ofFile = (text: string, code = Code.FailedPrecondition) => ({
  code,
  rawMessage: expect.stringContaining(text) as string,
});
const root = { username: 'Root', email: 'root@acme.example', phoneNumber: '+46701234567' };

describe('the name by which programs know a person', () => {
  it.each(['root', 'ROOT ', 'root@acme.example', '+46 70 123 45 67'])(
    'is not what another one signs in with: %s',
    async (preferredUsername) => {
      const { api, tenantId, apply, make } = await world();
      await make(root);
      const mallory = { username: 'mallory', preferredUsername: preferredUsername.trim() };
      await expect(make(mallory)).rejects.toMatchObject({ code: Code.AlreadyExists });
      await expect(apply([mallory])).rejects.toMatchObject(
        ofFile('tenants[0].users[0].preferredUsername: is the user name, e-mail address or phone number of'),
      );
      const { userId } = await make({ username: 'mallory' });
      await expect(
        api.users.update(
          { tenantId, user: { userId, preferredUsername: mallory.preferredUsername } },
          call(),
        ),
      ).rejects.toMatchObject({ code: Code.AlreadyExists });
    },
  );

  it('is not what another one gets to sign in with', async () => {
    const { api, tenantId, apply, make } = await world();
    await make({ username: 'usr-17', preferredUsername: 'Chief' });
    await expect(make({ username: 'chief' })).rejects.toMatchObject({ code: Code.AlreadyExists });
    await expect(apply([{ username: 'chief' }])).rejects.toMatchObject(
      ofFile('tenants[0].users[0].username: is the preferredUsername of'),
    );
    const { userId } = await make({ username: 'mallory' });
    await expect(
      api.users.update({ tenantId, user: { userId, username: 'CHIEF' } }, call()),
    ).rejects.toMatchObject({ code: Code.AlreadyExists });
  });

  it.each([
    ['email', { username: 'eve', email: 'Chief@acme.example' }, 'chief@acme.example'],
    ['phoneNumber', { username: 'eve', phoneNumber: '+46701234567' }, '+46 (70) 123-45-67'],
  ])('is named with the field that clashes: %s', async (key, eve, preferredUsername) => {
    const { apply, make } = await world();
    await make({ username: 'usr-17', preferredUsername });
    await expect(make(eve)).rejects.toMatchObject({
      code: Code.AlreadyExists,
      rawMessage: expect.stringContaining(`user.${key}`) as string,
    });
    await expect(apply([eve])).rejects.toMatchObject(
      ofFile(`tenants[0].users[0].${key}: is the preferredUsername of`),
    );
  });

  it.each([
    ['ÄRLA', 'ärla'],
    ['a\u0308rla', 'ÄRLA'],
    ['+46 70 123 45 68', '+46701234568'],
    ['cfo@BÜCHER.example', 'cfo@xn--bcher-kva.example'],
  ])('is compared as identifiers are: %j with %j', async (preferredUsername, username) => {
    const { make } = await world();
    await make({ username: 'known', preferredUsername });
    await expect(make({ username })).rejects.toMatchObject({ code: Code.AlreadyExists });
  });

  it('is free again once its person is known by another one, or gone', async () => {
    const { api, tenantId, make } = await world();
    const { userId } = await make({ username: 'usr-17', preferredUsername: 'Ärla' });
    await api.users.update({ tenantId, user: { userId, preferredUsername: 'Örla' } }, call());
    await make({ username: 'ärla' });
    await expect(make({ username: 'örla' })).rejects.toMatchObject({ code: Code.AlreadyExists });
    await api.users.delete({ tenantId, userId }, call());
    await make({ username: 'örla' });
  });

  it('is not what another one gets to sign in with if the version before wrote it', async () => {
    const { tenantId, make } = await world();
    await make({ username: 'usr-17', preferredUsername: 'Chief' });
    await database.query({
      name: 'test.former_version_writes',
      text: 'DELETE FROM directory.preferred_name WHERE tenant_id = $1',
      values: [tenantId],
    });
    await expect(make({ username: 'chief' })).rejects.toMatchObject({ code: Code.AlreadyExists });
  });

  it('is not what another one gets to sign in with at the same moment', async () => {
    const { api, tenantId, make } = await world();
    const { userId } = await make({ username: 'mallory' });
    for (let round = 0; round < 20; round += 1) {
      const name = `chief${round}`;
      const done = await Promise.allSettled([
        make({ username: name.toUpperCase() }),
        api.users.update({ tenantId, user: { userId, preferredUsername: name } }, call()),
      ]);
      expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    }
  });

  it('is not that of two people whom one file makes, and may be the own one', async () => {
    const { apply, make } = await world();
    await make({ username: 'ada', preferredUsername: 'Ada' });
    const eve = { username: 'eve', preferredUsername: 'bob' };
    await expect(apply([{ username: 'bob' }, eve])).rejects.toMatchObject(
      ofFile('tenants[0].users[1].preferredUsername', Code.InvalidArgument),
    );
    await apply([
      { username: 'bob', preferredUsername: 'bob' },
      { ...eve, preferredUsername: 'eve' },
    ]);
  });

  it('comes back with a deleted person only if nobody signs in with it', async () => {
    const { api, tenantId, make } = await world();
    const { userId } = await make({ username: 'usr-17', preferredUsername: 'chief' });
    await api.users.delete({ tenantId, userId }, call());
    const other = await make({ username: 'chief' });
    await expect(api.users.undelete({ tenantId, userId }, call())).rejects.toMatchObject({
      code: Code.AlreadyExists,
    });
    await api.users.update({ tenantId, user: { userId: other.userId, username: 'boss' } }, call());
    expect(await api.users.undelete({ tenantId, userId }, call())).toMatchObject({
      preferredUsername: 'chief',
    });
  });

  it('stays as it is from before, and keeps nothing else from being changed', async () => {
    const { api, tenantId, apply, make } = await world();
    await make({ username: 'chief' });
    await apply([{ username: 'eve', preferredUsername: 'other' }]);
    const { userId } = await make({ username: 'mallory', preferredUsername: 'another' });
    await database.query({
      name: 'test.borrow_names',
      text: `UPDATE directory.user_account SET standard_claims = jsonb_set(standard_claims, '{preferredUsername}', '"chief"')
              WHERE tenant_id = $1 AND username IN ('eve', 'mallory')`,
      values: [tenantId],
    });
    await apply([{ username: 'eve', preferredUsername: 'chief', name: 'Eve' }]);
    const user = { userId, name: 'Mallory' };
    expect(await api.users.update({ tenantId, user }, call())).toMatchObject({ preferredUsername: 'chief' });
  });
});
