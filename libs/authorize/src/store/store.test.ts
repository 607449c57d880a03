import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '@tessera/kit';
import type { RedisHandle } from '@tessera/stores';
import { fakeClock, testRedis, testRedisCluster } from '@tessera/test-kit';
import { answeringContract, codeStoreContract, visitStoreContract } from './store.contract.ts';
import type { Visit, VisitStore } from './visit-store.ts';
import { createMemoryCodeStore, createMemoryVisitStore } from './store.memory.ts';
import { createRedisCodeStore } from './code-store.redis.ts';
import { createRedisVisitStore } from './visit-store.redis.ts';

let redis: RedisHandle;
let cluster: RedisHandle;
beforeAll(async () => {
  [redis, cluster] = await Promise.all([testRedis(), testRedisCluster()]);
});

visitStoreContract('memory', async (quota) => createMemoryVisitStore(systemClock, quota));
visitStoreContract('Redis', async (quota) => createRedisVisitStore(redis, quota));
visitStoreContract('a Redis cluster', async (quota) => createRedisVisitStore(cluster, quota));
const memoryStores = async () => {
  const visits = createMemoryVisitStore(systemClock, 1000);
  return { visits, codes: createMemoryCodeStore(systemClock, visits) };
};
const redisStores = (handle: RedisHandle) => ({
  visits: createRedisVisitStore(handle, 1000),
  codes: createRedisCodeStore(handle),
});

codeStoreContract('memory', async () => (await memoryStores()).codes);
codeStoreContract('Redis', async () => createRedisCodeStore(redis));
codeStoreContract('a Redis cluster', async () => createRedisCodeStore(cluster));
answeringContract('memory', memoryStores);
answeringContract('Redis', async () => redisStores(redis));
answeringContract('a Redis cluster', async () => redisStores(cluster));

describe('visits in memory', () => {
  const pending: Visit = {
    purpose: 'code',
    browserHash: 'b',
    tenantId: 'acme',
    issuer: 'https://id.example',
    parameters: {},
    hintedUserId: '',
    seed: 'a-seed',
    done: [],
  };
  const fill = async (store: VisitStore, origin: string, count: number) => {
    for (let index = 0; index < count; index += 1)
      await store.save(`${origin} ${index}`, pending, 600, origin);
  };

  it('are rejected for an origin that has used its quota, and for no other, until some expire (DOS-8)', async () => {
    const clock = fakeClock();
    const store = createMemoryVisitStore(clock);
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
    const store = createMemoryVisitStore(systemClock);
    for (let origin = 0; origin < 20; origin += 1) await fill(store, `${origin}`, 1000);
    await expect(store.save('x', pending, 600, 'somebody')).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
    expect(await store.find('0 0')).toEqual(pending);
  });
});

describe('a visit in Redis', () => {
  const visit = {
    browserHash: 'b',
    tenantId: 'acme',
    issuer: 'https://id.example',
    parameters: { client_id: 'web' },
    hintedUserId: '',
    seed: 'a-seed',
    done: [],
  };

  it('to a page that earlier processes do not know is one to a page that they know, and to a newer page too', async () => {
    const store = createRedisVisitStore(redis, 1000);
    const id = systemRandom.bytes(32).toString('hex');
    const key = `authorize:interaction:${id}`;
    await store.save(id, { purpose: 'account_change', ...visit }, 60, '192.0.2.1');
    const stored = JSON.parse(String(await redis.call('GET', key))) as object;
    expect(stored).toMatchObject({ purpose: 'approvals', page: 'account_change' });
    await redis.call('SET', key, JSON.stringify({ ...stored, page: 'of a newer process' }));
    expect((await store.find(id))?.purpose).toBe('approvals');
  });
});
