import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '@tessera/kit';
import { flatGrant } from '@tessera/oauth';
import type { RedisHandle } from '@tessera/stores';
import { fakeClock, testRedis, testRedisCluster } from '@tessera/test-kit';
import { codeRecord, codeStoreContract, pendingRequestStoreContract } from './store.contract.ts';
import type { PendingRequestStore } from './store.ts';
import { createMemoryCodeStore, createMemoryPendingRequestStore } from './store.memory.ts';
import { createRedisCodeStore, createRedisPendingRequestStore } from './store.redis.ts';

let redis: RedisHandle;
let cluster: RedisHandle;
beforeAll(async () => {
  [redis, cluster] = await Promise.all([testRedis(), testRedisCluster()]);
});

pendingRequestStoreContract('memory', async (quota) => createMemoryPendingRequestStore(systemClock, quota));
pendingRequestStoreContract('Redis', async (quota) => createRedisPendingRequestStore(redis, quota));
pendingRequestStoreContract('a Redis cluster', async (quota) =>
  createRedisPendingRequestStore(cluster, quota),
);
codeStoreContract('memory', async () => createMemoryCodeStore(systemClock));
codeStoreContract('Redis', async () => createRedisCodeStore(redis));
codeStoreContract('a Redis cluster', async () => createRedisCodeStore(cluster));

describe('contexts in memory', () => {
  const pending = {
    browserHash: 'b',
    tenantId: 'acme',
    issuer: 'https://id.example',
    parameters: {},
    hintedUserId: '',
  };
  const fill = async (store: PendingRequestStore, origin: string, count: number) => {
    for (let index = 0; index < count; index += 1)
      await store.save(`${origin} ${index}`, pending, 600, origin);
  };

  it('are rejected for an origin that has used its quota, and for no other, until some expire (DOS-8)', async () => {
    const clock = fakeClock();
    const store = createMemoryPendingRequestStore(clock);
    await fill(store, '2001:db8:0:1', 1000);
    const another = () => store.save('one more', pending, 600, '2001:db8:0:1');
    await expect(another()).rejects.toMatchObject({ code: 'rate_limited', retryAfterSeconds: 60 });
    await store.save('of another', pending, 600, '2001:db8:0:2');
    const answered = { request: pending, codeHash: '', sessionId: 's', userId: 'u' };
    expect(await store.answer('2001:db8:0:1 7', answered, 60)).toBe(true);
    await another();
    await expect(store.save('and one', pending, 600, '2001:db8:0:1')).rejects.toMatchObject({
      code: 'rate_limited',
    });
    clock.advance(600_001);
    await fill(store, '2001:db8:0:1', 1000);
  });

  it('need twenty origins to fill, and are then rejected for all instead of dropping live ones (DOS-8)', async () => {
    const store = createMemoryPendingRequestStore(systemClock);
    for (let origin = 0; origin < 20; origin += 1) await fill(store, `${origin}`, 1000);
    await expect(store.save('x', pending, 600, 'somebody')).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    expect(await store.find('0 0')).toEqual(pending);
  });
});

describe('a code in Redis', () => {
  it('is redeemed if version 0.1 stored it, and readable for that version', async () => {
    const store = createRedisCodeStore(redis);
    const { grant, codeChallenge, redirectUri } = codeRecord();
    const codeHash = systemRandom.bytes(32).toString('hex');
    const key = `authorize:code:${codeHash}`;
    await store.save(codeHash, { grant, codeChallenge, redirectUri }, 60);
    const stored = JSON.parse(String(await redis.call('HGET', key, 'data'))) as Record<string, unknown>;
    const { userGrant: _, ...flat } = stored;
    expect(flat).toEqual({ ...flatGrant(grant), authTime: grant.authentication?.time });
    await redis.call('HSET', key, 'data', JSON.stringify(flat));
    const { tenantId, clientId } = grant;
    const presented = { tenantId, clientId, codeChallenge, redirectUri, confidential: true };
    expect(await store.redeem(codeHash, presented)).toMatchObject({ outcome: 'granted', grant });
  });
});
