import { beforeAll } from 'vitest';
import { systemClock } from '@tessera/kit';
import type { RedisHandle } from '@tessera/kit';
import { testRedis } from '@tessera/test-kit';
import { codeStoreContract, contextStoreContract } from './store.contract.ts';
import { createMemoryCodeStore, createMemoryContextStore } from './store.memory.ts';
import { createRedisCodeStore, createRedisContextStore } from './store.redis.ts';

let redis: RedisHandle;
beforeAll(async () => {
  redis = await testRedis();
});

contextStoreContract('memory', async () => createMemoryContextStore(systemClock));
contextStoreContract('Redis', async () => createRedisContextStore(redis));
codeStoreContract('memory', async () => createMemoryCodeStore(systemClock));
codeStoreContract('Redis', async () => createRedisCodeStore(redis));
