import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Logger } from 'pino';
import { OAuthError } from '@tessera/oauth';
import type { Clock } from './clock.ts';
import type { RedisHandle } from './data/redis.ts';

export interface LimitRule {
  /** For example `sign-in.account`; part of the key. */
  readonly name: string;
  /** Attempts that are let through in one window. */
  readonly limit: number;
  /** The window begins with the first attempt. */
  readonly windowSeconds: number;
}

export interface LimitResult {
  readonly allowed: boolean;
  /** 0 when allowed. */
  readonly retryAfterSeconds: number;
}

export interface Limiter {
  /** Counts an attempt, atomically and before the check it guards. */
  consume(rule: LimitRule, key: string): Promise<LimitResult>;
  /** Forgets the attempts of a key, as after a success. */
  reset(rule: LimitRule, key: string): Promise<void>;
}

export interface LimiterOptions {
  readonly redis: RedisHandle | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** The owner, for example `authorize`; the first part of the key. */
  readonly prefix: string;
}

/**
 * Counts one attempt unless the limit is reached; returns 0, or the milliseconds until the window ends. A counter
 * without an end gets one.
 */
const consumeScript = {
  name: 'limit.consume',
  lua: `
local count = tonumber(redis.call('GET', KEYS[1]) or '0')
local left = redis.call('PTTL', KEYS[1])
if count > 0 and left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
if count >= tonumber(ARGV[1]) then return math.max(left, 1) end
redis.call('INCR', KEYS[1])
if count == 0 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`,
};

/**
 * A limiter on Redis, and on the memory of this process where there is none. While Redis is away the memory limits,
 * at half the rate, and one line `ratelimit.degraded` says so.
 */
export function createLimiter({ redis, clock, log, prefix }: LimiterOptions): Limiter {
  const local = createLocalLimiter(clock);
  if (redis === undefined) return local;
  const consume = redis.script(consumeScript);
  let degraded = false;

  function store(rule: LimitRule, key: string): string {
    return `${prefix}:limit:${rule.name}:${digest(key)}`;
  }

  function note(isAway: boolean, cause?: unknown): void {
    if (isAway === degraded) return;
    degraded = isAway;
    if (isAway)
      log.warn(
        { event: 'ratelimit.degraded', prefix, error: cause },
        'limits are kept per process while Redis is away',
      );
    else log.info({ event: 'ratelimit.restored', prefix }, 'limits are kept in Redis again');
  }

  return {
    async consume(rule, key) {
      try {
        const left = Number(await consume([store(rule, key)], [rule.limit, rule.windowSeconds * 1000]));
        note(false);
        return { allowed: left === 0, retryAfterSeconds: Math.ceil(left / 1000) };
      } catch (error) {
        if (!(error instanceof OAuthError)) throw error;
        note(true, error);
        return local.consume({ ...rule, limit: Math.max(1, Math.floor(rule.limit / 2)) }, key);
      }
    },
    async reset(rule, key) {
      await local.reset(rule, key);
      try {
        await redis.call('DEL', store(rule, key));
      } catch (error) {
        // The counter ends by itself; a success must not fail over it.
        if (!(error instanceof OAuthError)) throw error;
        note(true, error);
      }
    },
  };
}

const maxCounters = 100_000;

function createLocalLimiter(clock: Clock): Limiter {
  const counters = new LRUCache<string, { count: number; readonly endsAt: number }>({ max: maxCounters });
  return {
    async consume(rule, key) {
      const name = `${rule.name}:${digest(key)}`;
      const now = clock.now();
      const found = counters.get(name);
      if (found === undefined || found.endsAt <= now) {
        counters.set(name, { count: 1, endsAt: now + rule.windowSeconds * 1000 });
        return { allowed: rule.limit >= 1, retryAfterSeconds: rule.limit >= 1 ? 0 : rule.windowSeconds };
      }
      if (found.count >= rule.limit) {
        return { allowed: false, retryAfterSeconds: Math.ceil((found.endsAt - now) / 1000) };
      }
      found.count += 1;
      return { allowed: true, retryAfterSeconds: 0 };
    },
    async reset(rule, key) {
      counters.delete(`${rule.name}:${digest(key)}`);
    },
  };
}

/** Keys are addresses, names and the like: hashed, so that they are bounded and not readable in Redis. */
function digest(key: string): string {
  return createHash('sha256').update(key).digest('base64url').slice(0, 22);
}
