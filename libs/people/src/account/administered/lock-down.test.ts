import { randomBytes } from 'node:crypto';
import { migrations } from '@tessera/directory';
import { Code, type CallContext } from '@tessera/rpc';
import type { Database } from '@tessera/stores';
import { eventually, SoftwareAuthenticator, testDatabase, testRuntime } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { giveIdentity, givePasskey, putProvider } from '../../testing/give-ways-in.ts';
import { mailWorld } from '../../testing/mail-world.ts';
import { call, startDirectory } from '../../testing/start-directory.ts';
import { createLockDown } from './lock-down.ts';

const first = 'the first one of eve';
const second = 'the second one of eve';

let database: Database;
beforeAll(async () => {
  database = await testDatabase(migrations);
});

/** Eve has a password, a passkey, an app and a provider. */
async function world() {
  const of = await mailWorld(database);
  const { tenantId, userId, api, query } = of;
  const eve = { tenantId, userId };
  await givePasskey(database, eve);
  await putProvider(database, tenantId, 'corp');
  await giveIdentity(database, eve, 'corp');
  await query(
    'give_app',
    `INSERT INTO directory.totp (tenant_id, user_id, sealed, last_step) VALUES ($1, $2, 'x', 0)`,
    tenantId,
    userId,
  );
  const newLink = async () => (await api.users.createPasswordLink({ ...eve, purpose: 'reset' }, call())).uri;
  return { ...of, eve, newLink, waysIn: async () => api.users.getCredentials(eve, call()) };
}

/** The time of a sign-in of eve, as her session has it. */
async function signedIn({ tenantId, as }: Awaited<ReturnType<typeof mailWorld>>): Promise<bigint> {
  const presented = { tenantId, identifier: 'eve', password: first };
  const { signedInAtMs } = await as('authorize').verifyPassword(presented, call());
  return signedInAtMs / 1000n;
}

describe('a lockdown', () => {
  it('says beforehand what it removes and what stays, and then has changed nothing', async () => {
    const { eve, api, waysIn, newLink, signIn } = await world();
    await newLink();
    const before = await waysIn();
    const told = await api.users.lockDown({ ...eve, validateOnly: true, impact: true }, call());
    expect(told).toMatchObject({
      removed: ['password', 'passkey'],
      waysLeft: ['provider'],
      impact: { people: 1, usernames: ['eve'], ends: { userIds: [eve.userId] } },
    });
    expect(await waysIn()).toEqual(before);
    expect(await signIn('eve', first)).toBeDefined();
  });

  it('removes password and passkeys, ends open links and a proposed address, and tells the person', async () => {
    const { eve, api, as, query, audited, smtp, waysIn, newLink, redeem, signIn } = await world();
    const earlier = await newLink();
    const proposed = { ...eve, email: 'mallory@new.example', language: 'en', ipAddress: '192.0.2.1' };
    await as('authorize').proposeEmail(proposed, call());
    const [confirmation] = await smtp.gotAll(1);

    expect(await api.users.lockDown(eve, call())).toMatchObject({ removed: ['password', 'passkey'] });
    expect(await waysIn()).toMatchObject({ waysIn: ['provider'], passkeys: [], hasTotp: true, links: [] });
    expect(await signIn('eve', first)).toBeUndefined();
    await expect(redeem(earlier, second)).rejects.toMatchObject({ code: Code.NotFound });
    const link = new URL(confirmation?.link ?? '').searchParams.get('link') ?? '';
    const confirmed = as('gateway').confirmEmail({ ...eve, link, ipAddress: '192.0.2.1' }, call());
    await expect(confirmed).rejects.toMatchObject({ code: Code.NotFound });
    expect(
      await query(
        'valid_from',
        'SELECT valid_from > 0 AS ended FROM directory.user_account WHERE user_id = $1',
        eve.userId,
      ),
    ).toEqual([{ ended: true }]);
    expect(await audited('auth.locked_down')).toMatchObject([
      { subject: eve.userId, record: { details: { removed: 'password passkey' } } },
    ]);
    const [, letter] = await smtp.gotAll(2);
    expect(letter?.text).toContain('An administrator has locked your account eve down');

    await redeem(await newLink(), second);
    expect(await signIn('eve', second)).toBeDefined();
    expect(await signIn('eve', first)).toBeUndefined();
  });

  it('says to other services from when sign-ins make a browser known, and no other end does', async () => {
    const { eve, as, api } = await world();
    const found = async () => (await as('authorize').getUser(eve, call())).user;
    const before = Math.floor(Date.now() / 1000);
    const replaced = { ...eve, presentPassword: first, newPassword: second };
    await as('authorize').replacePassword(replaced, call());
    await api.users.resetSecondFactors(eve, call());
    expect((await found())?.lockedDownAt).toBe(0n);
    await api.users.lockDown({ ...eve, validateOnly: true }, call());
    expect((await found())?.lockedDownAt).toBe(0n);
    await api.users.lockDown(eve, call());
    const locked = await found();
    expect(locked?.lockedDownAt).toBeGreaterThan(before);
    expect(locked?.lockedDownAt).toBeLessThanOrEqual(locked?.validFrom ?? 0n);
    const user = { userId: eve.userId, password: first };
    await api.users.update({ tenantId: eve.tenantId, user }, call());
    expect((await found())?.lockedDownAt).toBe(locked?.lockedDownAt);
  });

  it('can be repeated, and works for who is disabled, of whom it says with what they sign in once they are active', async () => {
    const { eve, api, audited } = await world();
    const user = { userId: eve.userId, status: 'disabled' };
    await api.users.update({ ...eve, user, updateMask: { paths: ['status'] } }, call());
    const answers = [await api.users.lockDown(eve, call()), await api.users.lockDown(eve, call())];
    expect(answers).toMatchObject([
      { removed: ['password', 'passkey'], waysLeft: ['provider'] },
      { removed: [], waysLeft: ['provider'] },
    ]);
    expect(await audited('auth.locked_down')).toHaveLength(2);
  });

  it('says that the person can ask for a new password by mail exactly if they then can', async () => {
    const { api, tenantId, user, forget, waiting, audited } = await world();
    const [reachable, unreachable, linked] = [
      await user({ username: 'zoe', email: 'zoe@people.example', password: first }),
      await user({ username: 'bob', password: first }),
      await user({ username: 'ann', email: 'ann@people.example', password: first }),
    ];
    await giveIdentity(database, { tenantId, userId: linked }, 'corp');
    const left = async (userId: string, { users } = api) =>
      (await users.lockDown({ tenantId, userId }, call())).waysLeft;
    expect(await left(unreachable)).toEqual([]);
    expect(await left(linked)).toEqual(['provider']);
    expect(await left(reachable)).toEqual(['password_reset_by_mail']);
    expect(await left(reachable, startDirectory(database).api), 'where no mail is sent').toEqual([]);
    for (const identifier of ['bob', 'ann', 'zoe']) await forget(identifier);
    await eventually('all are answered', async () => (await waiting()).length === 0);
    const refused = (await audited('auth.reset.refused')).map(({ subject }) => subject);
    expect(new Set(refused)).toEqual(new Set([unreachable, linked]));
    expect((await audited('auth.link.created')).map(({ subject }) => subject)).toEqual([reachable]);
  });

  it('is for somebody of the tenant, and not for who asks for it', async () => {
    const { eve, api, signIn, tenantId } = await world();
    for (const other of [
      { ...eve, tenantId: 'globex' },
      { tenantId, userId: 'usr_nobody' },
    ])
      await expect(api.users.lockDown(other, call())).rejects.toMatchObject({ code: Code.NotFound });
    const lockDown = createLockDown({
      ...testRuntime({ database }),
      sendsMail: false,
      announce: async () => {},
      onChange: () => {},
    });
    const actor = { type: 'user', tenantId, id: eve.userId };
    const context = { caller: 'admin', requestId: 'a-request', actor } as unknown as CallContext;
    const request = { ...eve, validateOnly: false, impact: false } as Parameters<typeof lockDown>[0];
    await expect(Promise.resolve(lockDown(request, context))).rejects.toMatchObject({
      code: Code.FailedPrecondition,
    });
    expect(await signIn('eve', first)).toBeDefined();
  });

  it('leaves no password, whenever a link is followed or the person changes it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { eve, api, as, newLink, redeem, signIn } = await world();
      const link = await newLink();
      await Promise.allSettled([
        redeem(link, second),
        as('authorize').replacePassword(
          { ...eve, presentPassword: first, newPassword: 'a third one of eve' },
          call(),
        ),
        api.users.lockDown(eve, call()),
      ]);
      for (const password of [first, second, 'a third one of eve'])
        expect(await signIn('eve', password), `round ${round}`).toBeUndefined();
    }
  });

  it('leaves no passkey and no provider that somebody who was signed in before adds in the same moment', async () => {
    const origin = 'https://id.example';
    for (let round = 0; round < 10; round += 1) {
      const of = await mailWorld(database);
      const { tenantId, userId, api, as, person } = of;
      const eve = { tenantId, userId };
      const asking = { ...eve, authTime: await signedIn(of), ipAddress: '192.0.2.1' };
      const issuer = await putProvider(database, tenantId, 'corp');
      const challenge = randomBytes(32).toString('base64url');
      const ceremony = { rpId: 'id.example', origin, challenge };
      const { options } = await as('authorize').proposePasskey({ ...eve, ceremony }, call());
      const response = new SoftwareAuthenticator(origin).create(options);
      const identity = { provider: 'corp', issuer, subject: `of the thief ${round}` };
      const [, , locked] = await Promise.allSettled([
        as('authorize').enrolPasskey({ ...asking, ceremony, response }, call()),
        person.linkOwnProvider({ ...asking, ...identity }, call()),
        api.users.lockDown(eve, call()),
      ]);
      const { waysIn } = await api.users.getCredentials(eve, call());
      const left = locked.status === 'fulfilled' ? locked.value.waysLeft : [];
      // A provider that was linked before stays, and the answer names it.
      expect(waysIn, `round ${round}`).toEqual(left.filter((way) => way !== 'password_reset_by_mail'));
    }
  });

  it('leaves no sign-in to somebody who was signed in before and removes the app in the same moment', async () => {
    for (let round = 0; round < 10; round += 1) {
      const of = await world();
      const { eve, api, as, person } = of;
      const asking = { ...eve, authTime: await signedIn(of), ipAddress: '192.0.2.1' };
      const [removed] = await Promise.allSettled([
        person.removeOwnFactor({ ...asking, credentialId: '' }, call()),
        api.users.lockDown(eve, call()),
      ]);
      const { user } = await as('authorize').getUser(eve, call());
      const countsFromMs = Number(user?.validFrom) * 1000;
      // The browser gets a new session of this time.
      const signedInAtMs = removed.status === 'fulfilled' ? Number(removed.value.signedInAtMs) : 0;
      expect(signedInAtMs, `round ${round}`).toBeLessThan(countsFromMs);
    }
  });
});

it('a file that declares the hash of a person who was locked down does not bring it back', async () => {
  const { files, api } = startDirectory(database);
  const hash = (salt: string) =>
    `$argon2id$v=19$m=19456,t=2,p=1$${salt}$K/16Bwhd94IYHs14QwtJQFSkR2vCFIfosQqsn7wqCp4`;
  const apply = async (salt: string, name: string) => {
    const document = `tenants: [{ id: filed, name: ${name}, users: [{ username: bob, passwordHash: '${hash(salt)}' }] }]`;
    await files.apply({ document, fileName: 'state.yaml' }, call());
  };
  await apply('aaucOpNWRxd1nT4aj381VM', 'One');
  const { users } = await api.users.list({ tenantId: 'filed' }, call());
  const bob = { tenantId: 'filed', userId: users[0]?.userId ?? '' };
  const waysIn = async () => (await api.users.getCredentials(bob, call())).waysIn;
  expect(await waysIn()).toEqual(['password']);
  await api.users.lockDown(bob, call());
  await apply('aaucOpNWRxd1nT4aj381VM', 'Two');
  expect(await waysIn()).toEqual([]);
  await apply('baucOpNWRxd1nT4aj381VM', 'Three');
  expect(await waysIn()).toEqual(['password']);
});
