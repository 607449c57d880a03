import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Decision } from '@tessera/proto-gen/device';
import { Status } from '@tessera/proto-gen/directory';
import {
  authTime,
  codeOf,
  createWorld,
  decideBackchannel,
  decideDevice,
  newPerson,
  openDevice,
  person,
  startBackchannel,
  startDevice,
  waitingFor,
} from '../testing/world.ts';
import type { Person, World } from '../testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

async function openedDevice(clientId = 'acme-tv', who: Person = newPerson(world)) {
  const device = await startDevice(world, clientId);
  return { ...device, who, requestId: await openDevice(world, device.userCode, who) };
}

describe('deciding about a device', () => {
  it('approves, with one audit row in the same commit', async () => {
    const { requestId, who, deviceCode, userCode, poll } = await openedDevice();
    await decideDevice(world, requestId, who);
    expect((await poll()).userGrant?.userId).toBe(who.userId);
    const rows = await world.audited('device.approved', { sessionId: who.sessionId });
    expect(rows).toHaveLength(1);
    expect(rows[0]?.record).toMatchObject({
      subject: who.userId,
      clientId: 'acme-tv',
      tenantId: 'acme',
      ipAddress: who.ipAddress,
      actor: { type: 'user', id: who.userId },
    });
    for (const secret of [deviceCode, userCode]) expect(JSON.stringify(rows)).not.toContain(secret);
  });

  it('denies', async () => {
    const { requestId, who, poll } = await openedDevice();
    await decideDevice(world, requestId, who, Decision.DENY);
    expect(await codeOf(poll())).toBe('access_denied');
    expect(await codeOf(poll())).toBe('access_denied');
    expect(await world.audited('device.denied', { sessionId: who.sessionId })).toHaveLength(1);
  });

  it.each([
    ['another person', () => newPerson(world)],
    ['another session of the same person', (who: Person) => ({ ...who, sessionId: 'another' })],
    ['another tenant', (who: Person) => ({ ...who, tenantId: 'umbra' })],
  ])('refuses the decision of %s and leaves the request pending (DEV-3)', async (_what, other) => {
    const { requestId, who, poll } = await openedDevice();
    expect(await codeOf(decideDevice(world, requestId, other(who)))).toBe('not_found');
    expect(await codeOf(decideDevice(world, requestId, other(who), Decision.DENY))).toBe('not_found');
    expect(await codeOf(poll())).toBe('authorization_pending');
    await decideDevice(world, requestId, who);
    expect((await poll()).userGrant?.userId).toBe(who.userId);
  });

  it('audits an attempt to decide the request of another person', async () => {
    const { requestId } = await openedDevice();
    const [stranger, foreigner] = [newPerson(world), person('eve', 'umbra')];
    await codeOf(decideDevice(world, requestId, stranger));
    await codeOf(decideDevice(world, requestId, foreigner));
    const refused = await world.audited('device.decision_refused', { subject: stranger.userId });
    expect(refused[0]).toMatchObject({ reason: 'other_person', tenant_id: 'acme' });
    const crossed = await world.audited('tenant.cross_access_denied', { subject: foreigner.userId });
    expect(crossed[0]).toMatchObject({ reason: 'other_tenant', tenant_id: 'umbra' });
    const here = await world.audited('tenant.cross_access_denied', { tenantId: 'acme' });
    expect(here[0]).toMatchObject({ reason: 'other_tenant', tenant_id: 'acme' });
    // Its administrators read the row of their tenant: it tells them nothing of the other.
    for (const known of ['umbra', foreigner.userId]) expect(JSON.stringify(here[0])).not.toContain(known);
  });

  it('refuses a decision if the request is unopened, unknown or of the other flow', async () => {
    const ada = newPerson(world);
    expect(await codeOf(decideDevice(world, 'unknown', ada))).toBe('not_found');
    expect(await codeOf(decideDevice(world, '', ada))).toBe('not_found');
    const bob = newPerson(world);
    await startBackchannel(world, bob.username);
    const [waiting] = await waitingFor(world, bob);
    expect(await codeOf(decideDevice(world, waiting?.requestId ?? '', bob))).toBe('not_found');
    const { requestId, who } = await openedDevice();
    expect(await codeOf(decideBackchannel(world, requestId, who))).toBe('not_found');
  });

  it('requires the decision and the person who makes it', async () => {
    const { requestId, who } = await openedDevice();
    expect(await codeOf(decideDevice(world, requestId, who, Decision.UNSPECIFIED))).toBe('invalid_request');
    await expect(
      world.device.decideDeviceAuthorization({ requestId, decision: Decision.APPROVE }),
    ).rejects.toThrow(/approver is missing/);
    const nobody = { ...who, userId: '', sessionId: '', tenantId: '' };
    await expect(decideDevice(world, requestId, nobody)).rejects.toThrow(/approver is missing/);
  });

  it('keeps the first of concurrent decisions: every poll and response agrees with it', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { requestId, who, poll } = await openedDevice();
      const decisions = Array.from({ length: 10 }, (_, i) =>
        i % 2 === round % 2 ? Decision.APPROVE : Decision.DENY,
      );
      const answers = await Promise.all(
        decisions.map((one) => codeOf(decideDevice(world, requestId, who, one))),
      );
      expect(answers).toContain('no error');
      const stands = decisions[answers.indexOf('no error')];
      expect(answers).toEqual(decisions.map((one) => (one === stands ? 'no error' : 'invalid_request')));
      const polled = await Promise.all(Array.from({ length: 5 }, () => codeOf(poll())));
      const expected = stands === Decision.APPROVE ? 'no error' : 'access_denied';
      expect(polled).toEqual(polled.map(() => expected));
    }
  });

  it('refuses approval if the sign-in predates a change of password or status (DEV-2, ASVS 7.4.3)', async () => {
    const [one, other] = [await openedDevice(), await openedDevice()];
    await world.directory.changeUser(one.who.userId, { validFrom: BigInt(authTime) });
    await world.directory.changeUser(other.who.userId, { validFrom: BigInt(authTime + 1) });
    expect(await codeOf(decideDevice(world, one.requestId, one.who))).toBe('no error');
    expect(await codeOf(decideDevice(world, other.requestId, other.who))).toBe('access_denied');
    expect(await codeOf(other.poll())).toBe('access_denied');
  });

  it('refuses approval and denies the device if the person has been locked since (DEV-2)', async () => {
    const { requestId, who, poll } = await openedDevice();
    await world.directory.changeUser(who.userId, { status: Status.LOCKED });
    expect(await codeOf(decideDevice(world, requestId, who))).toBe('access_denied');
    await world.directory.changeUser(who.userId, { status: Status.ACTIVE });
    expect(await codeOf(decideDevice(world, requestId, who))).toBe('invalid_request');
    expect(await codeOf(poll())).toBe('access_denied');
    const rows = await world.audited('device.denied', { sessionId: who.sessionId });
    expect(rows[0]?.reason).toBe('user_inactive');
  });

  it.each([
    ['application', { status: Status.DISABLED }, 'application_inactive'],
    ['grant type', { grantTypes: [] }, 'grant_type_not_allowed'],
  ])('refuses approval if the %s has been withdrawn since', async (_what, change, reason) => {
    const { requestId, who, poll } = await openedDevice('acme-box');
    await world.directory.changeApplication('acme-box', change);
    expect(await codeOf(decideDevice(world, requestId, who))).toBe('access_denied');
    await world.directory.changeApplication('acme-box', {
      status: Status.ACTIVE,
      grantTypes: ['device_code', 'ciba'],
    });
    expect(await codeOf(poll())).toBe('access_denied');
    const rows = await world.audited('device.denied', { sessionId: who.sessionId });
    expect(rows[0]?.reason).toBe(reason);
  });

  it('requires a new sign-in if the application was re-enabled after the last one, and keeps the request pending (DEV-2)', async () => {
    const { requestId, who, poll, userCode } = await openedDevice('acme-box');
    await world.directory.changeApplication('acme-box', { validFrom: BigInt(authTime + 1) });
    expect(await codeOf(decideDevice(world, requestId, who))).toBe('login_required');
    expect(await codeOf(poll())).toBe('authorization_pending');
    const rows = await world.audited('device.decision_refused', { sessionId: who.sessionId });
    expect(rows.map(({ reason }) => reason)).toEqual(['signed_in_before']);
    const again = { ...who, sessionId: `${who.sessionId}-again` };
    expect(await openDevice(world, userCode, again)).toBe(requestId);
    const authentication = { time: authTime + 1, methods: ['pwd'] };
    const approver = { ...again, authentication };
    await world.device.decideDeviceAuthorization({ requestId, decision: Decision.APPROVE, approver });
    const { userGrant } = await poll();
    expect(userGrant).toMatchObject({ sessionId: again.sessionId, authentication });
    const denied = await openedDevice('acme-box');
    await decideDevice(world, denied.requestId, denied.who, Decision.DENY);
    expect(await codeOf(denied.poll())).toBe('access_denied');
    await world.directory.changeApplication('acme-box', { validFrom: 0n });
  });

  it('decides nothing for a sign-in with fewer factors than the application asks for, and takes a better one', async () => {
    await world.directory.changeApplication('acme-box', { authenticationPolicy: 'phishing-resistant' });
    const { requestId, who, poll } = await openedDevice('acme-box');
    const decide = (methods: string[]) =>
      world.device.decideDeviceAuthorization({
        requestId,
        decision: Decision.APPROVE,
        approver: { ...who, authentication: { time: authTime, methods } },
      });
    for (const methods of [[], ['pwd'], ['pwd', 'otp', 'mfa']]) {
      expect(await codeOf(decide(methods))).toBe('login_required');
    }
    expect(await codeOf(poll())).toBe('authorization_pending');
    const rows = await world.audited('device.decision_refused', { sessionId: who.sessionId });
    expect(rows.map(({ reason }) => reason)).toEqual(Array.from({ length: 3 }, () => 'too_few_factors'));
    await decide(['swk', 'user', 'mfa']);
    expect((await poll()).userGrant?.userId).toBe(who.userId);
    const denied = await openedDevice('acme-box');
    await decideDevice(world, denied.requestId, denied.who, Decision.DENY);
    expect(await codeOf(denied.poll())).toBe('access_denied');
    await world.directory.changeApplication('acme-box', { authenticationPolicy: 'any' });
  });

  it('refuses approval and denies the device if the person lacks the required role (DEV-2, CVE-2024-38371)', async () => {
    await world.directory.changeApplication('acme-box', { allowedRoles: ['clerk', 'manager'] });
    const clerk = newPerson(world);
    await world.directory.changeUser(clerk.userId, { roles: ['manager'] });
    const [none, taken, allowed] = [
      await openedDevice('acme-box'),
      await openedDevice('acme-box', clerk),
      await openedDevice('acme-box', clerk),
    ];
    expect(await codeOf(decideDevice(world, none.requestId, none.who))).toBe('access_denied');
    expect(await codeOf(decideDevice(world, allowed.requestId, clerk))).toBe('no error');
    await world.directory.changeUser(clerk.userId, { roles: ['driver'] });
    expect(await codeOf(decideDevice(world, taken.requestId, clerk))).toBe('access_denied');
    await world.directory.changeApplication('acme-box', { allowedRoles: [] });
    expect(await codeOf(allowed.poll())).toBe('no error');
    for (const { requestId, who, poll } of [none, taken]) {
      expect(await codeOf(poll())).toBe('access_denied');
      expect(await codeOf(decideDevice(world, requestId, who)), 'the refusal is final').toBe(
        'invalid_request',
      );
      const rows = await world.audited('device.denied', { sessionId: who.sessionId });
      expect(rows[0]?.reason).toBe('role_missing');
    }
  });

  it('refuses approval if the tenant has been disabled since', async () => {
    const { requestId, who } = await openedDevice('umbra-tv', person('ada', 'umbra'));
    await world.directory.changeTenant('umbra', Status.DISABLED);
    expect(await codeOf(decideDevice(world, requestId, who))).toBe('access_denied');
    await world.directory.changeTenant('umbra', Status.ACTIVE);
  });

  it('decides nothing while the directory is unavailable', async () => {
    const { requestId, who, poll } = await openedDevice();
    const late = await createWorld({ beside: world });
    world.directory.unavailable = true;
    const refused = await codeOf(decideDevice(late, requestId, who));
    world.directory.unavailable = false;
    expect(refused).toBe('temporarily_unavailable');
    await decideDevice(late, requestId, who);
    expect((await poll()).userGrant?.userId).toBe(who.userId);
    await late.service.close();
  });

  it('limits how often a person decides', async () => {
    const who = newPerson(world);
    const answers = await Promise.all(
      Array.from({ length: 70 }, () => codeOf(decideDevice(world, 'unknown', who))),
    );
    expect(answers.filter((code) => code === 'rate_limited')).toHaveLength(10);
  });
});

describe('deciding about a backchannel request', () => {
  it('can be decided only by the person it names, in any of their sessions', async () => {
    const eve = newPerson(world);
    const { poll } = await startBackchannel(world, eve.username);
    const [waiting] = await waitingFor(world, eve);
    const requestId = waiting?.requestId ?? '';
    expect(await codeOf(decideBackchannel(world, requestId, newPerson(world)))).toBe('not_found');
    expect(await codeOf(decideBackchannel(world, requestId, { ...eve, tenantId: 'umbra' }))).toBe(
      'not_found',
    );
    expect(await codeOf(poll())).toBe('authorization_pending');
    await decideBackchannel(world, requestId, { ...eve, sessionId: 'another' });
    expect((await poll()).userGrant).toMatchObject({ userId: eve.userId, sessionId: 'another' });
    expect(await waitingFor(world, eve)).toEqual([]);
    const rows = await world.audited('ciba.approved', { subject: eve.userId });
    expect(rows.map(({ record }) => record)).toMatchObject([{ clientId: 'acme-bank' }]);
  });

  it('denies, and turns the approval of a locked person into a refusal', async () => {
    const eve = newPerson(world);
    const first = await startBackchannel(world, eve.username);
    const second = await startBackchannel(world, eve.username);
    const [one, two] = await waitingFor(world, eve);
    await decideBackchannel(world, one?.requestId ?? '', eve, Decision.DENY);
    await world.directory.changeUser(eve.userId, { status: Status.LOCKED });
    expect(await codeOf(decideBackchannel(world, two?.requestId ?? '', eve))).toBe('access_denied');
    expect(await codeOf(first.poll())).toBe('access_denied');
    expect(await codeOf(second.poll())).toBe('access_denied');
    const rows = await world.audited('ciba.denied', { subject: eve.userId }, 2);
    expect(rows.map(({ reason }) => reason)).toEqual([null, 'user_inactive']);
  });

  it('is denied if the person has lost the required role since (DEV-2)', async () => {
    const eve = newPerson(world);
    await world.directory.changeUser(eve.userId, { roles: ['clerk'] });
    await world.directory.changeApplication('acme-bank', { allowedRoles: ['clerk'] });
    const { poll } = await startBackchannel(world, eve.username);
    const [waiting] = await waitingFor(world, eve);
    await world.directory.changeUser(eve.userId, { roles: [] });
    expect(await codeOf(decideBackchannel(world, waiting?.requestId ?? '', eve))).toBe('access_denied');
    await world.directory.changeApplication('acme-bank', { allowedRoles: [] });
    expect(await codeOf(poll())).toBe('access_denied');
    const rows = await world.audited('ciba.denied', { subject: eve.userId });
    expect(rows.map(({ reason }) => reason)).toEqual(['role_missing']);
  });
});
