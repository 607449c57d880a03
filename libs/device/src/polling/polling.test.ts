import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Secret, systemClock } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { temporarilyUnavailable } from '@tessera/oauth';
import { Decision } from '@tessera/proto-gen/device';
import { fakeClock } from '@tessera/test-kit';
import {
  authentication,
  codeOf,
  createWorld,
  decideBackchannel,
  decideDevice,
  hashOf,
  issuer,
  openDevice,
  orders,
  person,
  pollBackchannel,
  pollDevice,
  startBackchannel,
  startDevice,
  waitingFor,
} from '../testing/world.ts';
import type { World } from '../testing/world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.service.close());

async function decided(decision: Decision = Decision.APPROVE, in_ = world) {
  const device = await startDevice(in_);
  const who = person();
  const requestId = await openDevice(in_, device.userCode, who);
  await decideDevice(in_, requestId, who, decision);
  return { ...device, who, requestId };
}

describe('polling for a device', () => {
  it('returns authorization_pending, slow_down, and the grant once approved (RFC 8628 §3.5)', async () => {
    const { userCode, deviceCode, poll } = await startDevice(world);
    expect(await codeOf(poll())).toBe('authorization_pending');
    expect(await codeOf(poll())).toBe('slow_down');
    const who = person();
    await decideDevice(world, await openDevice(world, userCode, who), who);
    const { userGrant, secretHash } = await poll();
    expect(userGrant).toMatchObject({
      userId: who.userId,
      scopes: ['openid', 'orders.read'],
      resource: orders,
      authentication,
      sessionId: who.sessionId,
      issuer,
    });
    expect(Buffer.from(secretHash).toString('hex')).toBe(hashOf(deviceCode));
  });

  it('grants again each time, because the durable marker decides which one counts (DEV-9)', async () => {
    const { poll } = await decided();
    const all = await Promise.all(Array.from({ length: 20 }, poll));
    expect(new Set(all.map(({ userGrant }) => userGrant?.userId)).size).toBe(1);
  });

  it('refuses another client, another tenant and any other value alike, and consumes nothing (DEV-1, COD-3)', async () => {
    const { deviceCode, poll } = await decided();
    const { authReqId } = await startBackchannel(world, 'bob');
    const secrets = ['', 'td_', deviceCode.slice(0, -1), `${deviceCode}A`, `td_${'A'.repeat(43)}`, authReqId];
    const foreign = [
      ...secrets.map((secret) => pollDevice(world, secret, 'acme-tv')),
      pollDevice(world, deviceCode, 'acme-box'),
      pollDevice(world, deviceCode, 'acme-tv', 'umbra'),
      pollBackchannel(world, deviceCode, 'acme-tv'),
      pollBackchannel(world, `ta_${deviceCode.slice(3)}`, 'acme-tv'),
      ...['tc_', 'tr_', 'ts_', 'tb_', 'ti_'].map((prefix) =>
        pollDevice(world, prefix + deviceCode.slice(3), 'acme-tv'),
      ),
    ];
    const refusals = await Promise.allSettled(foreign);
    const messages = refusals.map((refusal) =>
      refusal.status === 'rejected' && refusal.reason instanceof Error ? refusal.reason.message : 'granted',
    );
    expect(new Set(messages)).toEqual(new Set(['The grant is not valid.']));
    expect((await poll()).userGrant?.userId).toBe('acme-ada');
    expect(await codeOf(pollBackchannel(world, authReqId)), 'its first poll').toBe('authorization_pending');
  });

  it('costs one Redis round trip and no SQL while it waits', async () => {
    const devices = [await startDevice(world), await startDevice(world)];
    const { poll } = await startBackchannel(world, 'eve');
    world.redis.reset();
    world.database.reset();
    for (const device of devices) await codeOf(device.poll());
    await codeOf(poll());
    await codeOf(poll());
    expect(world.redis.names).toEqual(['device.poll', 'device.poll', 'device.poll', 'device.poll']);
    expect(world.database.names.filter((name) => !name.startsWith('audit.'))).toEqual([]);
  });

  it('costs one Redis round trip, plus one statement once approved and none once denied', async () => {
    const approved = await decided();
    const denied = await decided(Decision.DENY);
    world.redis.reset();
    world.database.reset();
    await approved.poll();
    await codeOf(denied.poll());
    expect(world.redis.names).toEqual(['device.poll', 'device.poll']);
    expect(world.database.names.filter((name) => !name.startsWith('audit.'))).toEqual(['device.confirm']);
  });

  it('returns expired_token to the client itself and invalid_grant to any other', async () => {
    const brief = await createWorld({ beside: world, config: { TESSERA_DEVICE_CODE_TTL: 1 } });
    const pending = await startDevice(brief);
    const approved = await decided(Decision.APPROVE, brief);
    await new Promise((resolve) => setTimeout(resolve, 1100));
    expect(await codeOf(pending.poll())).toBe('expired_token');
    expect(await codeOf(approved.poll())).toBe('expired_token');
    expect(await codeOf(pollDevice(brief, pending.deviceCode, 'acme-box'))).toBe('invalid_grant');
    expect(await codeOf(openDevice(brief, pending.userCode, person()))).toBe('not_found');
    await brief.service.close();
  });

  it('accepts calls from the token service only', async () => {
    const { deviceCode } = await startDevice(world);
    const poll = { secret: deviceCode, clientId: 'acme-tv', tenantId: 'acme' };
    await expect(world.device.pollDeviceAuthorization(poll)).rejects.toThrow(/permission_denied/);
    await expect(world.backchannel.pollBackchannelAuthentication(poll)).rejects.toThrow(/permission_denied/);
  });
});

describe('polling for a backchannel request', () => {
  it('is pending, then granted; another client cannot use the auth_req_id (CIBA-6)', async () => {
    const { authReqId, poll } = await startBackchannel(world, 'ada');
    expect(await codeOf(poll())).toBe('authorization_pending');
    const ada = person();
    for (const { requestId } of await waitingFor(world, ada)) await decideBackchannel(world, requestId, ada);
    expect(await codeOf(pollBackchannel(world, authReqId, 'acme-box'))).toBe('invalid_grant');
    expect(await codeOf(pollDevice(world, authReqId, 'acme-bank'))).toBe('invalid_grant');
    const { userGrant, secretHash } = await poll();
    expect(userGrant).toMatchObject({ userId: 'acme-ada', sessionId: ada.sessionId, authentication, issuer });
    expect(Buffer.from(secretHash).toString('hex')).toBe(hashOf(authReqId));
  });
});

describe('Redis that loses writes', () => {
  const grantKey = (deviceCode: string): string => `device:grant:device_code:${hashOf(deviceCode)}`;

  /** Keeps a copy of keys, so that they can come back as they were, as after a failover. */
  async function snapshot(...keys: string[]): Promise<() => Promise<void>> {
    const copies: [string, string][] = keys.map((key) => [key, `copy:${key}`]);
    for (const [key, copy] of copies) await world.redis.call('COPY', key, copy);
    return async () => {
      for (const [key, copy] of copies) await world.redis.call('COPY', copy, key, 'REPLACE');
    };
  }

  it('never turns a refusal into an approval: a second decision fails as already decided', async () => {
    const device = await startDevice(world);
    const who = person();
    const requestId = await openDevice(world, device.userCode, who);
    const rewind = await snapshot(grantKey(device.deviceCode));
    await decideDevice(world, requestId, who, Decision.DENY);
    await rewind();
    expect(await codeOf(device.poll()), 'Redis lost the refusal').toBe('authorization_pending');
    expect(await codeOf(decideDevice(world, requestId, who))).toBe('invalid_request');
    expect(await codeOf(device.poll()), 'and is returned again').toBe('access_denied');
    expect(await world.audited('device.approved', { sessionId: who.sessionId }, 0)).toEqual([]);
  });

  it('never approves on the word of Redis alone: the client must start again', async () => {
    const { deviceCode, poll } = await startDevice(world);
    await world.redis.call('HSET', grantKey(deviceCode), 'state', 'approved');
    expect(await codeOf(poll())).toBe('expired_token');
    const denied = await decided(Decision.DENY);
    await world.redis.call('HSET', grantKey(denied.deviceCode), 'state', 'approved');
    expect(await codeOf(denied.poll())).toBe('access_denied');
  });

  it('grants a durable approval whatever Redis says', async () => {
    const { deviceCode, poll, who } = await decided();
    await world.redis.call('HSET', grantKey(deviceCode), 'user_id', 'acme-eve', 'data', '{}');
    expect((await poll()).userGrant).toMatchObject({ userId: who.userId, scopes: ['openid', 'orders.read'] });
  });

  it('keeps durable decisions if Redis lost everything; a pending request without a MAC is unknown (F2)', async () => {
    const [approved, denied, pending] = [
      await decided(),
      await decided(Decision.DENY),
      await startDevice(world),
    ];
    for (const { deviceCode } of [approved, denied, pending]) {
      await world.redis.call('DEL', grantKey(deviceCode));
    }
    expect((await approved.poll()).userGrant).toMatchObject({ userId: approved.who.userId });
    expect(await codeOf(denied.poll())).toBe('access_denied');
    expect(await codeOf(pending.poll())).toBe('invalid_grant');
    expect(await codeOf(decideDevice(world, approved.requestId, approved.who))).toBe('not_found');
    expect(await codeOf(pollDevice(world, approved.deviceCode, 'acme-box'))).toBe('invalid_grant');
  });

  it('returns expired_token for a lost code with a MAC, to its own client only (F2)', async () => {
    const config = { TESSERA_DEVICE_HMAC_KEY: new Secret('an-hmac-key-of-at-least-32-characters') };
    const withKey = await createWorld({ beside: world, config });
    const device = await startDevice(withKey);
    const request = await startBackchannel(withKey, 'eve');
    const [used, denied] = [await decided(Decision.APPROVE, withKey), await decided(Decision.DENY, withKey)];
    const withoutMac = await startDevice(world);
    for (const { deviceCode } of [device, used, denied, withoutMac]) {
      await world.redis.call('DEL', grantKey(deviceCode));
    }
    await world.redis.call('DEL', `device:grant:auth_req_id:${hashOf(request.authReqId)}`);
    world.redis.reset();
    expect(await codeOf(device.poll())).toBe('expired_token');
    expect(world.redis.names).toEqual(['device.poll']);
    expect(await codeOf(request.poll())).toBe('expired_token');
    expect((await used.poll()).userGrant).toMatchObject({ userId: used.who.userId });
    expect(await codeOf(denied.poll())).toBe('access_denied');
    const { deviceCode } = device;
    const other = deviceCode.endsWith('A') ? 'B' : 'A';
    const refused = [
      pollDevice(withKey, deviceCode, 'acme-box'),
      pollDevice(withKey, deviceCode, 'acme-tv', 'umbra'),
      pollDevice(withKey, deviceCode.slice(0, -1) + other, 'acme-tv'),
      pollDevice(withKey, deviceCode.slice(0, -21), 'acme-tv'),
      pollDevice(withKey, deviceCode.slice(0, -1), 'acme-tv'),
      pollDevice(withKey, `${deviceCode}A`, 'acme-tv'),
      pollDevice(withKey, withoutMac.deviceCode, 'acme-tv'),
      pollBackchannel(withKey, `ta_${deviceCode.slice(3)}`, 'acme-tv'),
      pollBackchannel(withKey, request.authReqId, 'acme-box'),
    ];
    expect(new Set(await Promise.all(refused.map(codeOf)))).toEqual(new Set(['invalid_grant']));
    await withKey.service.close();
  });

  it('accepts codes issued under another key or without one while Redis has them', async () => {
    const keys = ['one', 'two'].map((name) => new Secret(`hmac-key-${name}-of-at-least-32-characters`));
    const worlds = [
      world,
      ...(await Promise.all(
        keys.map((key) => createWorld({ beside: world, config: { TESSERA_DEVICE_HMAC_KEY: key } })),
      )),
    ];
    const lengths: number[] = [];
    for (const giving of worlds) {
      const { deviceCode } = await startDevice(giving);
      lengths.push(deviceCode.length);
      const answers: string[] = [];
      for (const asked of worlds) answers.push(await codeOf(pollDevice(asked, deviceCode, 'acme-tv')));
      expect(answers).toEqual(['authorization_pending', 'slow_down', 'slow_down']);
      await world.redis.call('DEL', grantKey(deviceCode));
      const lost = worlds.map((asked) => codeOf(pollDevice(asked, deviceCode, 'acme-tv')));
      const expected = worlds.map((asked) =>
        asked === giving && asked !== world ? 'expired_token' : 'invalid_grant',
      );
      expect(await Promise.all(lost)).toEqual(expected);
    }
    expect(lengths).toEqual([46, 67, 67]);
    await Promise.all(worlds.slice(1).map(({ service }) => service.close()));
  });

  it('receives a decision again if Redis was unavailable at first', async () => {
    const device = await startDevice(world);
    const who = person();
    const requestId = await openDevice(world, device.userCode, who);
    let isAway = true;
    const flaky = {
      ...world.redis,
      script: (source: { name: string; lua: string }) => {
        const run = world.redis.script(source);
        return async (...given: Parameters<typeof run>) => {
          if (isAway && source.name === 'device.settle') throw temporarilyUnavailable();
          return run(...given);
        };
      },
    };
    const other = await createWorld({ beside: world, runtime: { redis: flaky } });
    expect(await codeOf(decideDevice(other, requestId, who))).toBe('temporarily_unavailable');
    expect(await codeOf(device.poll())).toBe('authorization_pending');
    isAway = false;
    await decideDevice(other, requestId, who);
    expect((await device.poll()).userGrant?.userId).toBe(who.userId);
    expect(await world.audited('device.approved', { sessionId: who.sessionId })).toHaveLength(1);
    await other.service.close();
  });

  it('withholds an approval while Postgres is unavailable, without calling the code invalid', async () => {
    const { deviceCode } = await decided();
    let isAway = false;
    const query: Database['query'] = (statement) =>
      isAway ? Promise.reject(temporarilyUnavailable()) : world.database.query(statement);
    const other = await createWorld({
      beside: world,
      runtime: {
        database: {
          engine: 'postgres',
          transaction: world.database.transaction,
          listen: world.database.listen,
          close: world.database.close,
          query,
        },
      },
    });
    isAway = true;
    expect(await codeOf(pollDevice(other, deviceCode, 'acme-tv'))).toBe('temporarily_unavailable');
    await expect(other.service.ready()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    isAway = false;
    expect((await pollDevice(other, deviceCode, 'acme-tv')).userGrant?.userId).toBe('acme-ada');
    await other.service.close();
  });
});

describe('without Redis', () => {
  it('runs both flows in memory, on the clock of the process', async () => {
    const clock = fakeClock(systemClock.now());
    const alone = await createWorld({ runtime: { redis: undefined, clock } });
    const device = await startDevice(alone);
    expect(await codeOf(device.poll())).toBe('authorization_pending');
    clock.advance(2500);
    expect(await codeOf(device.poll()), 'at half the interval').toBe('slow_down');
    clock.advance(5000);
    expect(await codeOf(device.poll()), 'five seconds are too fast now').toBe('slow_down');
    clock.advance(10_000);
    expect(await codeOf(device.poll())).toBe('authorization_pending');
    const who = person();
    await decideDevice(alone, await openDevice(alone, device.userCode, who), who);
    expect((await device.poll()).userGrant?.userId).toBe(who.userId);

    const { poll } = await startBackchannel(alone, 'ada');
    const [waiting] = await waitingFor(alone, who);
    await decideBackchannel(alone, waiting?.requestId ?? '', who, Decision.DENY);
    expect(await codeOf(poll())).toBe('access_denied');
    clock.advance(301_000);
    expect(await codeOf(poll())).toBe('expired_token');
    await alone.service.close();
  });
});
