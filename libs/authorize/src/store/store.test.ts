import { beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '@tessera/kit';
import { flatGrant } from '@tessera/oauth';
import type { RedisHandle } from '@tessera/stores';
import { fakeClock, testRedis, testRedisCluster } from '@tessera/test-kit';
import { codeRecord, codeStoreContract, visitStoreContract } from './store.contract.ts';
import type { Visit, VisitStore } from './store.ts';
import { createMemoryCodeStore, createMemoryVisitStore } from './store.memory.ts';
import { createRedisCodeStore, createRedisVisitStore } from './store.redis.ts';

let redis: RedisHandle;
let cluster: RedisHandle;
beforeAll(async () => {
  [redis, cluster] = await Promise.all([testRedis(), testRedisCluster()]);
});

visitStoreContract('memory', async (quota) => createMemoryVisitStore(systemClock, quota));
visitStoreContract('Redis', async (quota) => createRedisVisitStore(redis, quota));
visitStoreContract('a Redis cluster', async (quota) => createRedisVisitStore(cluster, quota));
codeStoreContract('memory', async () => createMemoryCodeStore(systemClock));
codeStoreContract('Redis', async () => createRedisCodeStore(redis));
codeStoreContract('a Redis cluster', async () => createRedisCodeStore(cluster));

describe('visits in memory', () => {
  const pending: Visit = {
    purpose: 'code',
    browserHash: 'b',
    tenantId: 'acme',
    issuer: 'https://id.example',
    parameters: {},
    hintedUserId: '',
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
  const earlier = {
    browserHash: 'b',
    tenantId: 'acme',
    issuer: 'https://id.example',
    parameters: { client_id: 'web' },
    hintedUserId: '',
  };

  it('is read if version 0.1 stored it, its answer too', async () => {
    const store = createRedisVisitStore(redis, 1000);
    const id = systemRandom.bytes(32).toString('hex');
    const record = JSON.stringify({ ...earlier, origin: 'o' });
    await redis.call('SET', `authorize:interaction:${id}`, record, 'PX', '60000');
    const visit: Visit = { purpose: 'code', ...earlier, done: [] };
    expect(await store.find(id)).toEqual(visit);
    const answer = { codeHash: 'c', sessionId: 's', userId: 'u' };
    await redis.call('SET', `authorize:answered:${id}`, JSON.stringify({ request: earlier, ...answer }));
    expect(await store.findAnswered(id)).toEqual({ request: visit, ...answer });
  });

  it('to a page that earlier processes do not know is one to a page that they know, and to a newer page too', async () => {
    const store = createRedisVisitStore(redis, 1000);
    const id = systemRandom.bytes(32).toString('hex');
    const key = `authorize:interaction:${id}`;
    await store.save(id, { purpose: 'account_change', ...earlier, done: [] }, 60, '192.0.2.1');
    const stored = JSON.parse(String(await redis.call('GET', key))) as object;
    expect(stored).toMatchObject({ purpose: 'approvals', page: 'account_change' });
    await redis.call('SET', key, JSON.stringify({ ...stored, page: 'of a newer process' }));
    expect((await store.find(id))?.purpose).toBe('approvals');
  });

  it('has every member that version 0.1 reads', async () => {
    const store = createRedisVisitStore(redis, 1000);
    const id = systemRandom.bytes(32).toString('hex');
    await store.save(id, { purpose: 'code', ...earlier, done: [] }, 60, '192.0.2.1');
    const stored: unknown = JSON.parse(String(await redis.call('GET', `authorize:interaction:${id}`)));
    expect(stored).toMatchObject({ ...earlier, origin: expect.any(String) as string });
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
