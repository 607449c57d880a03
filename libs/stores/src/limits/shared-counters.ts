import type { Logger } from 'pino';
import { OAuthError } from '@tessera/oauth';
import { uuid } from '@tessera/kit';
import type { RedisHandle } from '../redis/redis.ts';
import type { LimitRule } from './counters.ts';

/**
 * What became of a guess. `failed`: it counts until the window ends. `withdrawn`: it was right, or was not checked.
 * `forgiven`: as `withdrawn`, and the failed guesses are forgotten.
 */
export type Outcome = 'failed' | 'withdrawn' | 'forgiven';

/** A counter by its name, and what it counts. */
export interface Named {
  readonly rule: LimitRule;
  readonly name: string;
  readonly of: 'attempts' | 'guesses';
}

export interface NamedOutcome {
  readonly rule: LimitRule;
  readonly name: string;
  readonly outcome: Outcome;
}

/** A guess in progress is forgotten after this time: its process ended, and answered nothing. */
const inProgressSeconds = 30;

/**
 * Counts on several limits in order, as far as they let it through. KEYS: for each limit its counter, of attempts or
 * failed guesses, and the guesses in progress by their start. ARGV: name of the guess, how long one is in progress in
 * milliseconds, and for each limit the limit, its window in milliseconds, and `attempts` or `guesses`. Returns for each
 * limit 0, the milliseconds until the window of a used-up one ends, or -1 for busy; nothing for those after the first
 * that is not 0. A counter without an end gets one.
 */
const countScript = {
  name: 'limit.count',
  lua: `
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local results = {}
for i = 1, #KEYS / 2 do
  local counter, begun = KEYS[2 * i - 1], KEYS[2 * i]
  local limit, window, counted = tonumber(ARGV[3 * i]), ARGV[3 * i + 1], ARGV[3 * i + 2]
  local count = tonumber(redis.call('GET', counter) or '0')
  local left = redis.call('PTTL', counter)
  if count > 0 and left < 0 then
    redis.call('PEXPIRE', counter, window)
    left = tonumber(window)
  end
  results[i] = 0
  if count >= limit then results[i] = math.max(left, 1)
  elseif counted == 'attempts' then
    redis.call('INCR', counter)
    if count == 0 then redis.call('PEXPIRE', counter, window) end
  else
    redis.call('ZREMRANGEBYSCORE', begun, '-inf', now - ARGV[2])
    if count + redis.call('ZCARD', begun) >= limit then results[i] = -1
    else
      redis.call('ZADD', begun, now, ARGV[1])
      redis.call('PEXPIRE', begun, ARGV[2])
    end
  end
  if results[i] ~= 0 then break end
end
return results`,
};

/** KEYS: counter of attempts. */
const refundScript = {
  name: 'limit.refund',
  lua: `if tonumber(redis.call('GET', KEYS[1]) or '0') > 0 then redis.call('DECR', KEYS[1]) end
return 0`,
};

/** KEYS: counter. ARGV: limit. */
const usedScript = {
  name: 'limit.used',
  lua: `
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then return 0 end
return math.max(redis.call('PTTL', KEYS[1]), 1)`,
};

/**
 * Ends a guess on each of several limits. KEYS: as above. ARGV: for each limit the outcome, and its window in
 * milliseconds. The latest of those in progress ends, whichever it was: one that nobody ends grows old.
 */
const endScript = {
  name: 'limit.end',
  lua: `
for i = 1, #KEYS / 2 do
  local counter, outcome = KEYS[2 * i - 1], ARGV[2 * i - 1]
  redis.call('ZPOPMAX', KEYS[2 * i])
  if outcome == 'failed' and redis.call('INCR', counter) == 1 then redis.call('PEXPIRE', counter, ARGV[2 * i]) end
  if outcome == 'forgiven' then redis.call('DEL', counter) end
end
return 0`,
};

/** Counters that all processes share, if there is a Redis. Nothing fails while it is unavailable, which is logged. */
export function createSharedCounters(redis: RedisHandle | undefined, log: Logger, prefix: string) {
  const scripts = redis && {
    count: redis.script(countScript),
    refund: redis.script(refundScript),
    end: redis.script(endScript),
    used: redis.script(usedScript),
  };
  // In a cluster, the counter of each limit has a slot of its own.
  const mostAtOnce = redis?.spansSlots === false ? 1 : Infinity;
  const { note, unlessAway } = watchRedis(log, prefix);
  const keysOf = (name: string) => [`${prefix}:limit:${name}`, `${prefix}:limit:${name}:begun`];
  const keysOfAll = (counters: readonly { readonly name: string }[]) =>
    counters.flatMap(({ name }) => keysOf(name));

  async function refund(name: string): Promise<void> {
    await unlessAway(async () => scripts?.refund(keysOf(name).slice(0, 1), []));
  }

  async function end(ended: readonly NamedOutcome[]): Promise<void> {
    if (ended.length === 0) return;
    const groups = mostAtOnce === 1 ? ended.map((one) => [one]) : [ended];
    await Promise.all(
      groups.map(async (group) => {
        const args = group.flatMap(({ rule, outcome }) => [outcome, rule.windowSeconds * 1000]);
        await unlessAway(async () => scripts?.end(keysOfAll(group), args));
      }),
    );
  }

  return {
    mostAtOnce,

    /** As `countScript`; undefined while Redis is unavailable. Of at most `mostAtOnce` limits. */
    async count(counters: readonly Named[]): Promise<readonly number[] | undefined> {
      if (scripts === undefined || counters.length === 0) return counters.map(() => 0);
      const limits = counters.flatMap(({ rule, of }) => [rule.limit, rule.windowSeconds * 1000, of]);
      const args = [uuid(), inProgressSeconds * 1000, ...limits];
      const answer = await unlessAway(async () => scripts.count(keysOfAll(counters), args));
      if (answer === undefined) return undefined;
      note(false);
      return (answer as unknown[]).map(Number);
    },

    refund,
    end,

    /** As if they had not been counted. */
    async takeBack(counters: readonly Named[]): Promise<void> {
      await Promise.all(
        counters.map(async ({ rule, name, of }) =>
          of === 'attempts' ? refund(name) : end([{ rule, name, outcome: 'withdrawn' }]),
        ),
      );
    },

    /** 0, or the milliseconds until a used-up limit ends. */
    async used(rule: LimitRule, name: string): Promise<number> {
      const keys = keysOf(name).slice(0, 1);
      return (await unlessAway(async () => Number((await scripts?.used(keys, [rule.limit])) ?? 0))) ?? 0;
    },
  };
}

/** Logs once that Redis became unavailable, and once that it is back. */
function watchRedis(log: Logger, prefix: string) {
  let degraded = false;

  function note(isAway: boolean, cause?: unknown): void {
    if (isAway === degraded) return;
    degraded = isAway;
    if (isAway)
      log.warn(
        { event: 'ratelimit.degraded', prefix, err: cause },
        'limits are kept per process while Redis is unavailable',
      );
    else log.info({ event: 'ratelimit.restored', prefix }, 'Redis available; limits shared again');
  }

  /** Undefined while Redis is unavailable: nothing must fail over it. */
  async function unlessAway<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      note(true, error);
      return undefined;
    }
  }

  return { note, unlessAway };
}
