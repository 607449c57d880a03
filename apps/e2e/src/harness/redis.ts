import { Redis } from 'ioredis';
import { redisUrl } from '@tessera/test-kit';

/** Takes away what one system keeps in the tests' Redis, as a restart without its data would. */
export async function emptyRedis(keyPrefix: string): Promise<void> {
  const redis = new Redis(redisUrl());
  try {
    const keys = await redis.keys(`${keyPrefix}*`);
    if (keys.length > 0) await redis.del(...keys);
  } finally {
    redis.disconnect();
  }
}

/** Remembers what one system keeps in the tests' Redis. The answer puts all of that back, as a stale replica would. */
export async function copyOfRedis(keyPrefix: string): Promise<() => Promise<void>> {
  const redis = new Redis(redisUrl());
  const keys = await redis.keys(`${keyPrefix}*`);
  const copies = await Promise.all(
    keys.map(async (key) => ({ key, left: await redis.pttl(key), value: await redis.dumpBuffer(key) })),
  );
  return async () => {
    try {
      await emptyRedis(keyPrefix);
      for (const { key, left, value } of copies) {
        if (value !== null) await redis.restore(key, Math.max(left, 0), value);
      }
    } finally {
      redis.disconnect();
    }
  };
}
