import { beforeAll } from 'vitest';
import { systemClock } from '@tessera/kit';
import type { RedisHandle } from '@tessera/kit';
import { testRedis, testRedisCluster } from '@tessera/test-kit';
import { codeStoreContract, contextStoreContract } from './store.contract.ts';
import { createMemoryCodeStore, createMemoryContextStore } from './store.memory.ts';
import { createRedisCodeStore, createRedisContextStore } from './store.redis.ts';

let redis: RedisHandle;
let cluster: RedisHandle;
beforeAll(async () => {
  [redis, cluster] = await Promise.all([testRedis(), testRedisCluster()]);
});

contextStoreContract('memory', async () => createMemoryContextStore(systemClock));
contextStoreContract('Redis', async () => createRedisContextStore(redis));
contextStoreContract('a Redis cluster', async () => createRedisContextStore(cluster));
codeStoreContract('memory', async () => createMemoryCodeStore(systemClock));
codeStoreContract('Redis', async () => createRedisCodeStore(redis));
codeStoreContract('a Redis cluster', async () => createRedisCodeStore(cluster));
