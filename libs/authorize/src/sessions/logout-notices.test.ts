import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LogoutNoticeResult } from '@tessera/proto-gen/authorize';
import { ChangeKind, Status } from '@tessera/proto-gen/directory';
import { eventually } from '@tessera/test-kit';
import { newPerson } from '../testing/visitor.ts';
import { createWorld, issuer, web } from '../testing/world.ts';
import type { World } from '../testing/world.ts';

const backchannelLogoutUri = 'https://app.example/backchannel-logout';
let world: World;
beforeAll(async () => {
  world = await createWorld();
  await world.directory.changeApplication(web.clientId, { backchannelLogoutUri });
});
afterAll(() => world.service.close());
beforeEach(async () => {
  await world.database.query({ name: 'test.no_notices', text: 'DELETE FROM authorize.logout_notice' });
});

const take = async (leaseSeconds = 20) =>
  (await world.token.takeLogoutNotices({ limit: 10, leaseSeconds })).notices;
const sessionOf = async (person: ReturnType<typeof newPerson>) =>
  (await world.gateway.getSession({ browser: person.context() })).session?.sessionId ?? '';
/** Notices of a change in the directory, which are written after it. */
async function written() {
  let notices: Awaited<ReturnType<typeof take>> = [];
  await eventually('the notice is written', async () => (notices = await take()).length > 0);
  return notices;
}
const nowSeconds = () => BigInt(Math.floor(Date.now() / 1000));

describe('notices of ended sessions (OIDC Back-Channel Logout §2.5)', () => {
  it('name the applications that got a code, each once, with sid, sub and the issuer of its tokens', async () => {
    const person = newPerson(world);
    await person.signIn();
    await person.redirect();
    const sessionId = await sessionOf(person);
    await Promise.all([1, 2].map(() => world.gateway.endSession({ browser: person.context() })));
    const notices = await take();
    expect(notices).toMatchObject([
      { tenantId: 'acme', clientId: web.clientId, userId: 'acme-ada', sessionId, issuer, attempt: 1 },
    ]);
    expect(notices[0]?.requestId).not.toBe('');
  });

  it('are not written for an application without a logout URI', async () => {
    const person = newPerson(world);
    await person.signIn({ client_id: 'acme-spa', redirect_uri: 'https://spa.example/cb' });
    await world.gateway.endSession({ browser: person.context() });
    expect(await take()).toEqual([]);
  });

  it('are written if the person is disabled or gets another password, and not for others', async () => {
    const changes = [
      () => ({ status: Status.DISABLED }),
      () => ({ status: Status.ACTIVE, validFrom: nowSeconds() + 1n }),
    ];
    for (const change of changes) {
      await world.directory.changeUser('acme-bob', { status: Status.ACTIVE });
      const [ada, bob] = [newPerson(world), newPerson(world)];
      await ada.signIn();
      await bob.signIn({}, { identifier: 'bob' });
      const sessionId = await sessionOf(bob);
      await world.directory.changeUser('acme-bob', change());
      const notices = await written();
      expect(notices).toMatchObject([{ clientId: web.clientId, userId: 'acme-bob', sessionId }]);
      const ended = (await world.audited('session.ended')).filter((row) => row['sessionId'] === sessionId);
      expect(ended).toMatchObject([{ reason: 'invalidated', subject: 'acme-bob' }]);
      expect(await sessionOf(ada)).not.toBe('');
    }
    await world.directory.changeUser('acme-bob', { status: Status.ACTIVE, validFrom: 0n });
  });

  it('are written if the tenant asks for a second factor, for sessions without one, which are none for anybody', async () => {
    const [ada, bob] = [newPerson(world), newPerson(world)];
    await ada.signIn();
    await bob.signIn({}, { identifier: 'bob' });
    const [kept, ended] = [await sessionOf(ada), await sessionOf(bob)];
    await world.database.query({
      name: 'test.second_factor',
      text: `UPDATE authorize.session SET methods = '{pwd,otp,mfa}' WHERE session_id = $1`,
      values: [kept],
    });
    const tenant = { ...world.directory.tenants.get('acme') };
    world.directory.addTenant('acme', { ...tenant, authenticationPolicy: 'second-factor' });
    await world.directory.changeTenant('acme', Status.ACTIVE);
    try {
      const over: string[] = [];
      await eventually('the notice is written', async () => {
        over.push(...(await take()).map(({ sessionId }) => sessionId));
        return over.includes(ended);
      });
      expect(over).not.toContain(kept);
      const rows = (await world.audited('session.ended')).filter((row) => row['sessionId'] === ended);
      expect(rows).toMatchObject([{ reason: 'invalidated', subject: 'acme-bob' }]);
      expect([await sessionOf(ada), await sessionOf(bob)]).toEqual([kept, '']);
    } finally {
      world.directory.addTenant('acme', tenant);
      await world.directory.changeTenant('acme', Status.ACTIVE);
    }
    expect(await sessionOf(bob)).toBe('');
  });

  it('are written if many records of the tenant changed at once, as when declared state is applied', async () => {
    const [ada, bob] = [newPerson(world), newPerson(world)];
    await ada.signIn();
    await bob.signIn({}, { identifier: 'bob' });
    const sessionId = await sessionOf(bob);
    const key = 'acme acme-bob';
    const user = world.directory.users.get(key);
    if (user === undefined) throw new Error('no user');
    world.directory.users.set(key, { ...user, status: Status.DISABLED });
    world.directory.changes.send(ChangeKind.TENANT, 'acme', '');
    expect(await written()).toMatchObject([{ userId: 'acme-bob', sessionId }]);
    expect(await sessionOf(ada)).not.toBe('');
    await world.directory.changeUser('acme-bob', { status: Status.ACTIVE });
  });

  it('are written once the directory answers again, and a process that waits for it can stop', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: 'bob' });
    const sessionId = await sessionOf(person);
    const beside = await createWorld({ beside: world });
    world.directory.unavailable = true;
    await world.directory.changeUser('acme-bob', { status: Status.DISABLED });
    await beside.service.close();
    expect(await take()).toEqual([]);
    world.directory.unavailable = false;
    expect(await written()).toMatchObject([{ userId: 'acme-bob', sessionId }]);
    await world.directory.changeUser('acme-bob', { status: Status.ACTIVE });
  });

  it('are written for a change that happened while no process ran', async () => {
    const person = newPerson(world);
    await person.signIn({}, { identifier: 'bob' });
    await world.service.close();
    await world.directory.changeUser('acme-bob', { status: Status.LOCKED });
    world = await createWorld({ beside: world });
    const notices = await written();
    expect(notices).toMatchObject([{ userId: 'acme-bob' }]);
    await world.directory.changeUser('acme-bob', { status: Status.ACTIVE });
  });

  it('are retried, given back and ended with an audit row as token reports', async () => {
    const person = newPerson(world);
    await person.signIn();
    await world.gateway.endSession({ browser: person.context() });
    const [first] = await take();
    await world.token.finishLogoutNotice({ notice: first, result: LogoutNoticeResult.RETRY });
    const [second] = await take();
    expect(second).toMatchObject({ noticeId: first?.noticeId, attempt: 2 });
    await world.token.finishLogoutNotice({ notice: second, result: LogoutNoticeResult.GIVE_BACK });
    const [third] = await take();
    expect(third?.attempt).toBe(2);
    const failed = { notice: third, result: LogoutNoticeResult.FAILED, reason: 'status_400' };
    await world.token.finishLogoutNotice(failed);
    await world.token.finishLogoutNotice(failed);
    expect(await take(0)).toEqual([]);
    const rows = await world.audited('logout.notified');
    expect(rows).toMatchObject([
      { outcome: 'failure', reason: 'status_400', clientId: web.clientId, details: { attempts: '2' } },
    ]);
    for (const invalid of [{ result: LogoutNoticeResult.RETRY }, { notice: third }]) {
      await expect(world.token.finishLogoutNotice(invalid)).rejects.toThrow(/is required/);
    }
  });

  it.each([1e13, -1, Number.NaN])('cannot be delayed by %d seconds', async (delaySeconds) => {
    for (const result of [LogoutNoticeResult.RETRY, LogoutNoticeResult.GIVE_BACK]) {
      const finished = world.token.finishLogoutNotice({ notice: {}, result, delaySeconds });
      await expect(finished).rejects.toThrow('The delay must be between 0 and 604800 seconds.');
    }
  });
});
