import { setTimeout as pause } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import { fakeClock, testRedis, testRedisCluster } from '@tessera/test-kit';
import type { RedisHandle } from '@tessera/stores';
import { forgettingContract, grantStoreContract } from './grant-store.contract.ts';
import type { GrantEngine } from './grant-store.contract.ts';
import { createMemoryGrantStore } from './grant-store.memory.ts';
import { createRedisGrantStore } from './grant-store.redis.ts';

let redis: RedisHandle;
let cluster: RedisHandle;
beforeAll(async () => {
  [redis, cluster] = await Promise.all([testRedis(), testRedisCluster()]);
});

async function openMemory(): Promise<GrantEngine> {
  const clock = fakeClock();
  return { store: createMemoryGrantStore(clock), elapse: async (ms) => clock.advance(ms) };
}

grantStoreContract('memory', openMemory);
grantStoreContract('Redis', async () => ({
  store: createRedisGrantStore(redis),
  elapse: (ms) => pause(ms),
}));
grantStoreContract('a Redis cluster', async () => ({
  store: createRedisGrantStore(cluster),
  elapse: (ms) => pause(ms),
}));
forgettingContract('memory', openMemory);

const request = {
  kind: 'device_code',
  hash: 'ttl',
  requestId: 'ttl',
  tenantId: 'acme',
  clientId: 'tv',
  scopes: [],
  resource: '',
  issuer: '',
  ipAddress: '',
  bindingMessage: '',
  authenticated: true,
} as const;
const pace = { intervalSeconds: 5, increaseSeconds: 5 };
const later = { ...request, hash: 'later', requestId: 'later' };

describe('a request in memory', () => {
  it('ends with its lifetime, to the millisecond', async () => {
    const { store, elapse } = await openMemory();
    await store.startBackchannel({ request, lifetimeSeconds: 60, pace }, 'ada', 1);
    await elapse(59_999);
    expect(await store.pendingOf('acme', 'ada')).toHaveLength(1);
    expect(await store.startBackchannel({ request: later, lifetimeSeconds: 60, pace }, 'ada', 1)).toBe(
      'too_many_pending',
    );
    await elapse(1);
    expect(await store.pendingOf('acme', 'ada')).toEqual([]);
    expect(await store.find('ttl')).toBeUndefined();
    const next = { ...request, hash: 'next', requestId: 'next' };
    expect(await store.startBackchannel({ request: next, lifetimeSeconds: 60, pace }, 'ada', 1)).toBe(
      'started',
    );
  });
});

describe('the keys in Redis', () => {
  it('expire by themselves, some minutes after the request', async () => {
    const store = createRedisGrantStore(redis);
    await store.startDevice({ request, lifetimeSeconds: 60, pace }, 'ttl');
    const rest = async (key: string) => Number(await redis.call('PTTL', key));
    expect(await rest('device:grant:device_code:ttl')).toBeGreaterThan(350_000);
    expect(await rest('device:grant:device_code:ttl')).toBeLessThanOrEqual(360_000);
    expect(await rest('device:user-code:ttl')).toBeLessThanOrEqual(60_000);
    expect(await rest('device:request:ttl')).toBeLessThanOrEqual(60_000);
    const rules = [{ name: 'global', key: '', limit: 9, windowSeconds: 60 }] as const;
    await store.open('nothing', undefined, rules);
    await store.startBackchannel({ request, lifetimeSeconds: 60, pace }, 'ada', 3);
    const client = { tenantId: 'acme', clientId: 'tv' };
    await store.poll('device_code', 'ttl', client);
    await store.settle(request, 'approved');
    await store.poll('device_code', 'ttl', client);
    const endless = redis.script({ name: 'test.endless', lua: endlessKeys });
    expect(await endless([''], [])).toEqual([]);
  });
});

/** The keys below the prefix that never end. */
const endlessKeys = `
local endless = {}
for _, key in ipairs(redis.call('KEYS', KEYS[1] .. '*')) do
  if redis.call('PTTL', key) < 0 then table.insert(endless, key) end
end
return endless`;
