import { Code } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, expect, it } from 'vitest';
import { call, startDirectory } from '../testing/start-directory.ts';
import { migrations } from '@tessera/directory';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

it('an unlock moves forward the time since which guesses count, each one, is audited and told to watchers', async () => {
  const { files, api, as } = startDirectory(database);
  const document = 'tenants: [{ id: acme, name: Acme, users: [{ username: ada }, { username: eve }] }]';
  await files.apply({ document, fileName: 'state.yaml' }, call());
  const found = async (identifier: string) =>
    (await as('authorize').findUser({ tenantId: 'acme', identifier }, call())).user;
  const since = async () => (await found('ada'))?.unlockedAtMs ?? 0n;
  const whose = { tenantId: 'acme', userId: (await found('ada'))?.userId ?? '' };
  expect(await since()).toBe(0n);

  const before = BigInt(Date.now()) - 1n;
  await api.users.unlock(whose, call());
  const first = await since();
  expect(first).toBeGreaterThanOrEqual(before);
  // At the same time: two in one millisecond count, too.
  const rounds = 20;
  await Promise.all(Array.from({ length: rounds }, async () => api.users.unlock(whose, call())));
  expect(await since()).toBeGreaterThanOrEqual(first + BigInt(rounds));
  expect((await found('eve'))?.unlockedAtMs).toBe(0n);
  // A database whose clock goes back, as after a failover.
  const ahead = BigInt(Date.now()) + 3_600_000n;
  await database.query({
    name: 'test.unlocked_ahead',
    text: 'UPDATE directory.user_account SET unlocked_at = $1 WHERE user_id = $2',
    values: [ahead, whose.userId],
  });
  await api.users.unlock(whose, call());
  expect(await since()).toBe(ahead + 1n);

  const { rows } = await database.query<{ subject: string; of: string }>({
    name: 'test.unlocked',
    text: `SELECT record ->> 'subject' AS subject, record ->> 'tenantId' AS of
             FROM directory.audit_event WHERE event = 'auth.unlocked'`,
  });
  expect(rows).toEqual(Array.from({ length: rounds + 2 }, () => ({ subject: whose.userId, of: 'acme' })));
  const changes = await database.query({
    name: 'test.unlock_changes',
    text: `SELECT 1 FROM directory.change WHERE kind = 'user' AND id = $1`,
    values: [whose.userId],
  });
  expect(changes.rows.length).toBeGreaterThan(rounds);
  await expect(api.users.unlock({ ...whose, userId: 'usr_nobody' }, call())).rejects.toMatchObject({
    code: Code.NotFound,
  });
});
