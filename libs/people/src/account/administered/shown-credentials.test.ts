import { migrations } from '@tessera/directory';
import { Code } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase } from '@tessera/test-kit';
import { beforeAll, expect, it } from 'vitest';
import { giveIdentity, givePasskey, givePassword, putProvider } from '../../testing/give-ways-in.ts';
import { call, startDirectory } from '../../testing/start-directory.ts';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

async function world() {
  const { files, api } = startDirectory(database, { TESSERA_ISSUER: 'https://id.example' });
  const document = `tenants: [{ id: acme, name: Acme, users: [{ username: ada }, { username: eve }] }]`;
  await files.apply({ document, fileName: 'state.yaml' }, call());
  const { users } = await api.users.list({ tenantId: 'acme' }, call());
  const whose = (name: string) => ({
    tenantId: 'acme',
    userId: users.find(({ username }) => username === name)?.userId ?? '',
  });
  const credentialsOf = async (name: string) => api.users.getCredentials(whose(name), call());
  return { api, whose, credentialsOf };
}

it('the credentials of a person are shown with the IDs of passkeys and without secrets, of a disabled person too', async () => {
  const { api, whose, credentialsOf } = await world();
  const ada = whose('ada');
  await givePassword(database, ada);
  await givePasskey(database, ada);
  await putProvider(database, 'acme', 'corp');
  await giveIdentity(database, ada, 'corp');
  await giveIdentity(database, ada, 'gone');
  const { links, ...shown } = await credentialsOf('ada');
  expect(links).toEqual([]);
  expect(shown).toMatchObject({
    waysIn: ['password', 'passkey', 'provider'],
    hasTotp: false,
    recoveryCodes: 0,
    passkeys: [{ passkeyId: ada.userId, name: '', synced: false, createTime: expect.anything() as unknown }],
    providers: [
      { name: 'corp', gone: false },
      { name: 'gone', gone: true },
    ],
  });
  const [passkey] = shown.passkeys;
  expect(
    Object.keys(passkey ?? {})
      .filter((name) => !name.startsWith('$'))
      .toSorted(),
  ).toEqual(['createTime', 'name', 'passkeyId', 'synced']);
  const disabled = {
    ...ada,
    user: { userId: ada.userId, status: 'disabled' },
    updateMask: { paths: ['status'] },
  };
  await api.users.update(disabled, call());
  expect((await credentialsOf('ada')).waysIn).toEqual(['password', 'passkey', 'provider']);
});

it('links that set a password are shown until something ends them', async () => {
  const { api, whose, credentialsOf } = await world();
  const eve = whose('eve');
  const { expireTime } = await api.users.createPasswordLink({ ...eve, purpose: 'invitation' }, call());
  const shown = await credentialsOf('eve');
  expect(shown).toMatchObject({ waysIn: [], links: [{ purpose: 'invitation' }] });
  const [expires, promised] = [shown.links[0]?.expireTime, expireTime].map((time) => Number(time?.seconds));
  expect(Math.abs((expires ?? 0) - (promised ?? NaN))).toBeLessThanOrEqual(1);
  const user = { userId: eve.userId, password: 'a long password of eve' };
  await api.users.update({ tenantId: 'acme', user, takeOver: true }, call());
  expect(await credentialsOf('eve')).toMatchObject({ waysIn: ['password'], links: [] });
});

it('nothing is shown of somebody of another tenant, or of nobody', async () => {
  const { api, whose } = await world();
  for (const asked of [
    { ...whose('ada'), tenantId: 'globex' },
    { tenantId: 'acme', userId: 'usr_nobody' },
  ])
    await expect(api.users.getCredentials(asked, call())).rejects.toMatchObject({ code: Code.NotFound });
});
