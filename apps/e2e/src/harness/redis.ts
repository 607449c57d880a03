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
