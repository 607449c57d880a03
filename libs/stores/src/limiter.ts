import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { OAuthError } from '@tessera/oauth';
import { boundedCache, type Clock } from '@tessera/kit';
import type { RedisHandle } from './redis/redis.ts';

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
  /** Takes one attempt back that turned out right, and leaves the others counted. */
  refund(rule: LimitRule, key: string): Promise<void>;
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

const refundScript = {
  name: 'limit.refund',
  lua: `if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end
return 0`,
};

/**
 * A limiter on Redis and on the memory of this process: an attempt is refused when either has no more of them, because
 * a Redis that lost its counters must not hand out new ones. While Redis is away the memory limits alone, at half the
 * rate, and one line `ratelimit.degraded` says so.
 */
export function createLimiter({ redis, clock, log, prefix }: LimiterOptions): Limiter {
  const local = createCounters(clock);
  const shared = redis && { consume: redis.script(consumeScript), refund: redis.script(refundScript) };
  let degraded = false;

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

  /** Undefined while Redis is away: nothing must fail over it. */
  async function unlessAway<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      note(true, error);
      return undefined;
    }
  }

  return {
    async consume(rule, key) {
      const name = counterName(rule, key);
      // What Redis refuses is not counted here, or refused attempts would prolong the window.
      const usedUp = local.usedUp(rule, name);
      if (usedUp > 0) return resultOf(usedUp);
      const args = [rule.limit, rule.windowSeconds * 1000];
      const left = await unlessAway(async () =>
        Number((await shared?.consume([`${prefix}:limit:${name}`], args)) ?? 0),
      );
      if (left === undefined)
        return resultOf(local.consume({ ...rule, limit: Math.max(1, Math.floor(rule.limit / 2)) }, name));
      note(false);
      return resultOf(left > 0 ? left : local.consume(rule, name));
    },
    async refund(rule, key) {
      const name = counterName(rule, key);
      local.refund(name);
      await unlessAway(async () => shared?.refund([`${prefix}:limit:${name}`], []));
    },
    async reset(rule, key) {
      const name = counterName(rule, key);
      local.reset(name);
      await unlessAway(async () => redis?.call('DEL', `${prefix}:limit:${name}`));
    },
  };
}

/** `left`: 0, or the milliseconds until the window ends. */
function resultOf(left: number): LimitResult {
  return { allowed: left === 0, retryAfterSeconds: Math.ceil(left / 1000) };
}

const maxCounters = 100_000;

/** Counters in the memory of this process. They answer 0, or the milliseconds until the window of a used-up one ends. */
function createCounters(clock: Clock) {
  const counters = boundedCache<{ count: number; readonly endsAt: number }>(maxCounters);
  function living(name: string) {
    const found = counters.get(name);
    return found !== undefined && found.endsAt > clock.now() ? found : undefined;
  }
  function usedUp(rule: LimitRule, name: string): number {
    if (rule.limit < 1) return rule.windowSeconds * 1000;
    const found = living(name);
    return found !== undefined && found.count >= rule.limit ? found.endsAt - clock.now() : 0;
  }
  return {
    usedUp,
    /** Counts one attempt unless the limit is reached. */
    consume(rule: LimitRule, name: string): number {
      const left = usedUp(rule, name);
      if (left > 0) return left;
      const found = living(name);
      if (found === undefined)
        counters.set(name, { count: 1, endsAt: clock.now() + rule.windowSeconds * 1000 });
      else found.count += 1;
      return 0;
    },
    refund(name: string): void {
      const found = living(name);
      if (found !== undefined && found.count > 0) found.count -= 1;
    },
    reset: (name: string) => void counters.delete(name),
  };
}

/** Keys are addresses, names and the like: hashed, so that they are bounded and not readable in Redis. */
function counterName(rule: LimitRule, key: string): string {
  return `${rule.name}:${hash('sha256', key, 'base64url').slice(0, 22)}`;
}
