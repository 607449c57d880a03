import { testDatabase } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import type { Database } from '@tessera/stores';
import { call, startDirectory } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

const present = 'the present passphrase';
const chosen = 'the passphrase after it';
let database: Database;
let count = 0;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

async function world() {
  const { api, as } = startDirectory(database);
  const tenantId = `t${(count += 1)}`;
  await api.tenants.create({ tenantId, tenant: { tenantId, name: 'Acme' } }, call());
  const user = { username: 'eve', password: present };
  const { userId } = await api.users.create({ tenantId, user }, call());
  const authorize = as('authorize');
  return {
    api,
    tenantId,
    userId,
    change: async (fields: object = {}) =>
      authorize.replacePassword(
        {
          tenantId,
          userId,
          presentPassword: present,
          newPassword: chosen,
          ipAddress: '192.0.2.1',
          ...fields,
        },
        call(),
      ),
    signIn: async (password: string) =>
      (await authorize.verifyPassword({ tenantId, identifier: 'eve', password }, call())).user,
  };
}

describe('a person who changes the password', () => {
  it('is signed in by it, and everything from before ends', async () => {
    const { tenantId, userId, change, signIn } = await world();
    const before = await signIn(present);
    const { user, signedInAtMs } = await change();
    expect(user).toMatchObject({ userId, username: 'eve' });
    expect(user?.validFrom).toBeGreaterThan(before?.validFrom ?? 0n);
    expect(Number(signedInAtMs)).toBe(Number(user?.validFrom) * 1000);
    expect(await signIn(present)).toBeUndefined();
    expect(await signIn(chosen)).toEqual(user);
    const { rows } = await database.query({
      name: 'test.events_of_change',
      text: `SELECT record -> 'actor' ->> 'id' AS actor, record ->> 'ipAddress' AS address FROM directory.audit_event
              WHERE tenant_id = $1 AND event = 'auth.credential.changed'`,
      values: [tenantId],
    });
    expect(rows).toEqual([{ actor: userId, address: '192.0.2.1' }]);
    const changes = await database.query({
      name: 'test.ended_by_change',
      text: 'SELECT id FROM directory.change WHERE tenant_id = $1 AND ended',
      values: [tenantId],
    });
    expect(changes.rows).toEqual([{ id: userId }]);
  });

  it('must know the present one, be active, and choose one that people may have', async () => {
    const { api, tenantId, userId, change, signIn } = await world();
    const other = await world();
    const answered = async (fields: object = {}) => {
      const { user, passwordProblem } = await change(fields);
      return [user, passwordProblem];
    };
    for (const fields of [
      { presentPassword: 'wrong' },
      { presentPassword: '' },
      { userId: 'usr_nobody' },
      { userId: other.userId },
    ])
      expect(await answered(fields)).toEqual([undefined, '']);
    const short = 'must have at least 8 characters';
    expect(await answered({ newPassword: 'short' })).toEqual([undefined, short]);
    expect((await change({ presentPassword: 'wrong', newPassword: 'short' })).passwordProblem).toBe('');
    expect(await signIn(present)).toBeDefined();
    await api.users.update({ tenantId, user: { userId, status: 'locked' } }, call());
    expect(await answered()).toEqual([undefined, '']);
  });

  it('changes it once, of many who change it at the same time', async () => {
    const { change, signIn } = await world();
    const passwords = Array.from({ length: 6 }, (_, at) => `${chosen} ${at}`);
    const answers = await Promise.all(passwords.map((newPassword) => change({ newPassword })));
    const won = passwords.filter((_, at) => answers[at]?.user !== undefined);
    expect(won).toHaveLength(1);
    expect(await signIn(won[0] ?? '')).toBeDefined();
  });
});
