import { Redis } from 'ioredis';
import { redisUrl } from '@tessera/test-kit';

/** Deletes the Redis keys of one system, as a restart of Redis without its data would. */
export async function emptyRedis(keyPrefix: string): Promise<void> {
  const redis = new Redis(redisUrl());
  try {
    const keys = await redis.keys(`${keyPrefix}*`);
    if (keys.length > 0) await redis.del(...keys);
  } finally {
    redis.disconnect();
  }
}

/** Saves the Redis keys of one system. The returned function restores them, as a failover to a stale replica would. */
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
