import { migrations } from '@tessera/directory';
import { Code } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, expect, it } from 'vitest';
import { givePasskey } from '../testing/give-ways-in.ts';
import { mailWorld } from '../testing/mail-world.ts';
import { call } from '../testing/start-directory.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** Eve has a password and a passkey. */
async function world() {
  const { tenantId, userId, api } = await mailWorld(database);
  const eve = { tenantId, userId };
  await givePasskey(database, eve);
  const etagOf = async () => (await api.users.get(eve, call())).etag;
  const waysIn = async () => (await api.users.getCredentials(eve, call())).waysIn;
  return { eve, users: api.users, etagOf, waysIn };
}
type World = Awaited<ReturnType<typeof world>>;

it.each<[name: string, change: (of: World, etag: string) => Promise<unknown>]>([
  ['lockdown', async ({ eve, users }, etag) => users.lockDown({ ...eve, etag }, call())],
  ['reset of factors', async ({ eve, users }, etag) => users.resetSecondFactors({ ...eve, etag }, call())],
  ['unlock', async ({ eve, users }, etag) => users.unlock({ ...eve, etag }, call())],
  [
    'removal of a credential',
    async ({ eve, users }, etag) => {
      const { passkeys } = await users.getCredentials(eve, call());
      const credential = { case: 'passkeyId', value: passkeys[0]?.passkeyId ?? 'gone' } as const;
      return users.deleteCredential({ ...eve, credential, etag }, call());
    },
  ],
])('a %s is for the version of the person that it names', async (_name, change) => {
  const of = await world();
  const { eve, users, etagOf, waysIn } = of;
  const before = await etagOf();
  await users.update({ tenantId: eve.tenantId, user: { userId: eve.userId, name: 'Eve' } }, call());
  const aborted = {
    code: Code.Aborted,
    rawMessage: 'The user has changed since it was read. Read it again.',
  };
  await expect(change(of, before)).rejects.toMatchObject(aborted);
  expect(await waysIn()).toEqual(['password', 'passkey']);
  const present = await etagOf();
  await change(of, present);
  expect(await etagOf()).not.toBe(present);
  await expect(change(of, present)).rejects.toMatchObject(aborted);
});
