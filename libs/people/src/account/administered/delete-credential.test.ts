import { migrations } from '@tessera/directory';
import { Code, type CallContext } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { testDatabase, testRuntime } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { giveIdentity, givePasskey, putProvider } from '../../testing/give-ways-in.ts';
import { mailWorld } from '../../testing/mail-world.ts';
import { call } from '../../testing/start-directory.ts';
import { createDeleteCredential } from './delete-credential.ts';

type Asked = Parameters<ReturnType<typeof createDeleteCredential>>[0];
type Named = Exclude<Asked['credential'], { readonly case: undefined }>;

const laptop: Named = { case: 'passkeyId', value: 'laptop' };
const corp: Named = { case: 'provider', value: 'corp' };
const app: Named = { case: 'totp', value: true };

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** Eve has a password, two passkeys, an app, recovery codes and a provider. */
async function world() {
  const of = await mailWorld(database);
  const { tenantId, userId, api, query } = of;
  const eve = { tenantId, userId };
  for (const id of ['laptop', 'phone']) await givePasskey(database, eve, id);
  await putProvider(database, tenantId, 'corp');
  await giveIdentity(database, eve, 'corp');
  await query(
    'give_app',
    `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, 'x', 0)`,
    tenantId,
    userId,
  );
  await query(
    'give_codes',
    `INSERT INTO directory.recovery_code (tenant_id, user_id, digest) VALUES ($1, $2, 'x')`,
    tenantId,
    userId,
  );
  const remove = async (credential: Named, fields: object = {}) =>
    api.users.deleteCredential({ ...eve, credential, ...fields }, call());
  const has = async () => {
    const { passkeys, providers, hasTotp, recoveryCodes } = await api.users.getCredentials(eve, call());
    const named = [passkeys.map(({ passkeyId }) => passkeyId), providers.map(({ name }) => name)] as const;
    return [named[0].join(), named[1].join(), hasTotp, recoveryCodes];
  };
  const ended = async () => {
    const text = 'SELECT valid_from > 0 AS ended FROM directory.user_account WHERE user_id = $1';
    return (await query<{ ended: boolean }>('valid_from', text, userId))[0]?.ended;
  };
  return { ...of, eve, remove, has, ended };
}

const all = ['laptop,phone', 'corp', true, 1] as const;

/** The handler itself, as it is called by an administrator. */
function calledBy(id: string, tenantId: string) {
  const handler = createDeleteCredential({
    ...testRuntime({ database }),
    sendsMail: false,
    announce: async () => {},
    onChange: () => {},
  });
  const actor = { type: 'user', tenantId, id };
  const context = { caller: 'admin', requestId: 'a-request', actor } as unknown as CallContext;
  return async (request: object) =>
    handler({ validateOnly: false, impact: false, ...request } as Asked, context);
}

describe('an administrator who removes one way in of a person', () => {
  it.each([
    [
      laptop,
      'passkey',
      ['phone', 'corp', true, 1],
      ['auth.factor.removed', { factor: 'passkey' }],
      'A passkey was removed from your account eve.',
      ['password', 'passkey', 'provider', 'password_reset_by_mail'],
    ],
    [
      corp,
      'provider',
      ['laptop,phone', '', true, 1],
      ['auth.provider.unlinked', { provider: 'corp' }],
      'You can no longer sign in to your account eve with another organization that you had linked.',
      ['password', 'passkey', 'password_reset_by_mail'],
    ],
    [
      app,
      'totp',
      ['laptop,phone', 'corp', false, 1],
      ['auth.factor.removed', { factor: 'totp' }],
      'The authenticator app of your account eve was removed.',
      ['password', 'passkey', 'provider', 'password_reset_by_mail'],
    ],
  ] as const)(
    'removes %o alone, ends what was issued before, tells the person and says what is left',
    async (credential, removed, left, [event, details], sentence, waysLeft) => {
      const { eve, remove, has, ended, audited, smtp } = await world();
      expect(await remove(credential)).toMatchObject({ removed, waysLeft });
      expect(await has()).toEqual(left);
      expect(await ended()).toBe(true);
      expect(await audited(event)).toMatchObject([
        { subject: eve.userId, record: { actor: { type: 'operator', id: 'operator' }, details } },
      ]);
      const [letter] = await smtp.gotAll(1);
      expect(letter?.text).toContain(sentence);
      await expect(remove(credential)).rejects.toMatchObject({ code: Code.NotFound });
      expect(await audited(event)).toHaveLength(1);
    },
  );

  it.each([laptop, corp, app])('is told beforehand what it ends and leaves, by %o', async (credential) => {
    const { eve, remove, has, ended, audited } = await world();
    const { waysLeft, impact } = await remove(credential, { validateOnly: true, impact: true });
    expect(impact).toMatchObject({ people: 1, usernames: ['eve'], ends: { userIds: [eve.userId] } });
    expect(await has()).toEqual(all);
    expect(await ended()).toBe(false);
    expect(await audited('auth.factor.removed')).toEqual([]);
    const carriedOut = await remove(credential, { impact: true });
    expect([carriedOut.waysLeft, carriedOut.impact]).toEqual([waysLeft, undefined]);
  });

  it('removes recovery codes with the last second factor, and not before', async () => {
    const { remove, has } = await world();
    await remove(app);
    await remove(laptop);
    expect(await has()).toEqual(['phone', 'corp', false, 1]);
    await remove({ case: 'passkeyId', value: 'phone' });
    expect(await has()).toEqual(['', 'corp', false, 0]);
  });

  it('removes the last way in, of who is disabled too, and a link with a provider that is gone', async () => {
    const { api, tenantId, user } = await world();
    const bob = { tenantId, userId: await user({ username: 'bob', status: 'disabled' }) };
    await givePasskey(database, bob, 'key');
    await giveIdentity(database, bob, 'corp');
    await giveIdentity(database, bob, 'gone');
    const left = [];
    for (const credential of [
      { case: 'provider', value: 'gone' },
      { case: 'passkeyId', value: 'key' },
      { case: 'provider', value: 'corp' },
    ] as const)
      left.push((await api.users.deleteCredential({ ...bob, credential }, call())).waysLeft);
    expect(left).toEqual([['passkey', 'provider'], ['provider'], []]);
    expect(await api.users.getCredentials(bob, call())).toMatchObject({ passkeys: [], providers: [] });
  });

  it('finds nothing that is not of that person in that tenant', async () => {
    const { eve, api, tenantId, user, remove, has } = await world();
    const other = await world();
    const bob = { userId: await user({ username: 'bob' }) };
    const nobody = { userId: 'usr_nobody' };
    for (const credential of [laptop, corp, app])
      for (const of of [bob, nobody, { tenantId: other.tenantId }, { ...other.eve, userId: eve.userId }])
        await expect(remove(credential, of)).rejects.toMatchObject({ code: Code.NotFound });
    await givePasskey(database, other.eve, 'tablet');
    for (const credential of [
      { case: 'passkeyId', value: 'tablet' },
      { case: 'passkeyId', value: '' },
      { case: 'provider', value: 'club' },
    ] as const)
      for (const validateOnly of [true, false])
        await expect(remove(credential, { validateOnly })).rejects.toMatchObject({ code: Code.NotFound });
    for (const nothing of [{}, { credential: { case: 'totp', value: false } as const }])
      await expect(
        api.users.deleteCredential({ tenantId, userId: eve.userId, ...nothing }, call()),
      ).rejects.toMatchObject({ code: Code.InvalidArgument });
    expect(await has()).toEqual(all);
    expect(await other.has()).toEqual(['laptop,phone,tablet', 'corp', true, 1]);
  });

  it('is the actor, and is not the person', async () => {
    const { eve, has, audited } = await world();
    await expect(calledBy(eve.userId, eve.tenantId)({ ...eve, credential: laptop })).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
    expect(await has()).toEqual(all);
    await calledBy('usr_helper', eve.tenantId)({ ...eve, credential: laptop });
    expect(await audited('auth.factor.removed')).toMatchObject([
      { record: { actor: { type: 'user', id: 'usr_helper' }, requestId: 'a-request' } },
    ]);
  });

  it('removes it once, though two ask at once, or the person does', async () => {
    for (const credential of [laptop, corp, app]) {
      const { eve, person, remove, audited, has } = await world();
      const own = async () => {
        const asked = { ...eve, ipAddress: '192.0.2.1' };
        const { refusal } =
          credential.case === 'provider'
            ? await person.unlinkOwnProvider({ ...asked, provider: credential.value }, call())
            : await person.removeOwnFactor(
                { ...asked, credentialId: credential === laptop ? laptop.value : '' },
                call(),
              );
        if (refusal !== '') throw new Error(refusal);
      };
      const outcomes = await Promise.allSettled([remove(credential), remove(credential), own()]);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
      const event = credential === corp ? 'auth.provider.unlinked' : 'auth.factor.removed';
      expect(await audited(event)).toHaveLength(1);
      expect(await has()).not.toEqual(all);
    }
  });
});
