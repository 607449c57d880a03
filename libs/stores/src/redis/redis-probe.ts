import { randomUUID } from 'node:crypto';
import type { RedisHandle } from './redis.ts';

/** Records of a failed try live no longer. */
const lifetimeMs = 10_000;

/** Every command of the scripts of the services, on keys that exist for the run of the script. */
export const probe = {
  name: 'stores.probe',
  lua: `
local text, hash, set, list = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local function tried()
  redis.call('SET', text, '1', 'PX', ARGV[1])
  redis.call('GET', text)
  redis.call('PTTL', text)
  redis.call('PEXPIRE', text, ARGV[1])
  redis.call('INCR', text)
  redis.call('DECR', text)
  redis.call('EXISTS', text)
  redis.call('TYPE', text)
  redis.call('HSET', hash, 'field', '1')
  redis.call('HGET', hash, 'field')
  redis.call('HMGET', hash, 'field')
  redis.call('HEXISTS', hash, 'field')
  redis.call('SADD', set, 'member')
  redis.call('SISMEMBER', set, 'member')
  redis.call('SMEMBERS', set)
  redis.call('ZADD', list, redis.call('TIME')[1], 'member')
  redis.call('ZRANGE', list, 0, 0)
  redis.call('ZCARD', list)
  redis.call('ZREM', list, 'member')
  redis.call('ZREMRANGEBYSCORE', list, '-inf', 0)
  redis.call('ZPOPMAX', list)
end
redis.call('DEL', text, hash, set, list)
local good, trouble = pcall(tried)
redis.call('DEL', text, hash, set, list)
if not good then return redis.error_reply(type(trouble) == 'table' and trouble.err or trouble) end
return redis.status_reply('OK')`,
};

/**
 * Writes, reads and deletes in Redis as a service does: with the prefix of its records and of its limits, by commands
 * and by scripts. Leaves nothing.
 * @param service the first part of its keys, for example `token`
 * @throws OAuthError `temporarily_unavailable` with what Redis answers, where the user of the URL lacks a right
 */
export async function probeRedis(redis: RedisHandle, service: string): Promise<void> {
  const run = redis.script(probe);
  for (const family of ['doctor', 'limit:doctor']) {
    const key = `${service}:${family}:${randomUUID()}`;
    await run([key, `${key}:hash`, `${key}:set`, `${key}:list`], [lifetimeMs]);
    await redis.call('SET', key, '1', 'PX', lifetimeMs);
    await redis.call('GET', key);
    await redis.call('DEL', key);
  }
}
