import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import { OAuthError } from '@tessera/oauth';
import { uuid, type Clock } from '@tessera/kit';
import { createCounters, type LimitRule } from './counters.ts';
import type { RedisHandle } from '../redis/redis.ts';
import { WaitingLines } from './waiting-lines.ts';

export interface LimitResult {
  readonly allowed: boolean;
  /** 0 when allowed. */
  readonly retryAfterSeconds: number;
}

export interface GuessResult extends LimitResult {
  /**
   * Refused although fewer guesses failed than the limit: those in progress take what is left, and nothing is known about
   * them yet. The caller is to try again, and is told nothing about the limit.
   */
  readonly busy: boolean;
}

/**
 * Limits of two kinds: of attempts, all of which count, and of guesses of a secret, of which the failed ones count. A rule
 * is of one kind.
 */
export interface Limiter {
  /** Counts an attempt, atomically. */
  consume(rule: LimitRule, key: string): Promise<LimitResult>;
  /** Takes one attempt back, as if it had not been made. */
  refund(rule: LimitRule, key: string): Promise<void>;
  /**
   * Counts a guess as in progress, atomically and before the check it guards: failed guesses and those in progress are
   * never more than the limit together. One that is allowed must be ended by `endGuess`. While the guesses in progress
   * leave no room it waits for one of them to end, for a second at most, unless `wait` is false.
   */
  beginGuess(rule: LimitRule, key: string, options?: { readonly wait: boolean }): Promise<GuessResult>;
  /**
   * Ends a guess. `failed`: it counts until the window ends. `withdrawn`: it was right, or was not checked. `forgiven`: as
   * `withdrawn`, and the failed guesses are forgotten.
   */
  endGuess(rule: LimitRule, key: string, outcome: 'failed' | 'withdrawn' | 'forgiven'): Promise<void>;
  /** Counts nothing: 0, or the milliseconds until a used-up limit ends. */
  used(rule: LimitRule, key: string): Promise<number>;
}

export interface LimiterDeps {
  readonly redis: RedisHandle | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  /** The owner, for example `authorize`; the first part of the key. */
  readonly prefix: string;
}

/** How long a guess waits for those in progress: less than the deadline of a call. */
const patienceMs = 1_000;
/** A guess in progress is forgotten after this time: its process ended, and answered nothing. */
const inProgressSeconds = 30;
const busy: GuessResult = { allowed: false, busy: true, retryAfterSeconds: 1 };

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
 * Failed guesses in the first key, guesses in progress by their start in the second; returns as `consumeScript`, or -1 for busy.
 */
const beginScript = {
  name: 'limit.begin',
  lua: `
local failed = tonumber(redis.call('GET', KEYS[1]) or '0')
local left = redis.call('PTTL', KEYS[1])
if failed > 0 and left < 0 then
  redis.call('PEXPIRE', KEYS[1], ARGV[2])
  left = tonumber(ARGV[2])
end
if failed >= tonumber(ARGV[1]) then return math.max(left, 1) end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now - ARGV[3])
if failed + redis.call('ZCARD', KEYS[2]) >= tonumber(ARGV[1]) then return -1 end
redis.call('ZADD', KEYS[2], now, ARGV[4])
redis.call('PEXPIRE', KEYS[2], ARGV[3])
return 0`,
};

const usedScript = {
  name: 'limit.used',
  lua: `
if tonumber(redis.call('GET', KEYS[1]) or '0') < tonumber(ARGV[1]) then return 0 end
return math.max(redis.call('PTTL', KEYS[1]), 1)`,
};

/** The latest of those in progress ends, whichever it was: one that nobody ends grows old. */
const endScript = {
  name: 'limit.end',
  lua: `
redis.call('ZPOPMAX', KEYS[2])
if ARGV[1] == 'failed' and redis.call('INCR', KEYS[1]) == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if ARGV[1] == 'forgiven' then redis.call('DEL', KEYS[1]) end
return 0`,
};

/**
 * A limiter on Redis and on the memory of this process: an attempt is refused when either has no more of them, because
 * a Redis that lost its counters must not hand out new ones. While Redis is unavailable the memory limits alone, at half
 * the rate, and one line `ratelimit.degraded` says so.
 */
export function createLimiter({ redis, clock, log, prefix }: LimiterDeps): Limiter {
  const local = createCounters(clock);
  /** Guesses of this process in progress. */
  const begun = new Map<string, number>();
  const lines = new WaitingLines<GuessResult>(patienceMs);
  const shared = redis && {
    consume: redis.script(consumeScript),
    refund: redis.script(refundScript),
    begin: redis.script(beginScript),
    end: redis.script(endScript),
    used: redis.script(usedScript),
  };
  const keysOf = (name: string) => [`${prefix}:limit:${name}`, `${prefix}:limit:${name}:begun`];
  const { note, unlessAway } = watchRedis(log, prefix);

  function hold(name: string, change: 1 | -1): void {
    const count = (begun.get(name) ?? 0) + change;
    if (count > 0) begun.set(name, count);
    else begun.delete(name);
  }

  /** As Redis answers: 0 if there is room for those already counted and one more. */
  function roomHere(rule: LimitRule, name: string): number {
    const left = local.usedUp(rule, name);
    if (left > 0) return left;
    return local.count(name) + (begun.get(name) ?? 0) < rule.limit ? 0 : -1;
  }

  async function begin(rule: LimitRule, name: string): Promise<GuessResult> {
    const here = roomHere(rule, name);
    if (here !== 0) return guessResultOf(here);
    // Held before Redis is asked, or all that come meanwhile would ask it too.
    hold(name, 1);
    let left: number | undefined;
    try {
      const args = [rule.limit, rule.windowSeconds * 1000, inProgressSeconds * 1000, uuid()];
      left = await unlessAway(async () => Number((await shared?.begin(keysOf(name), args)) ?? 0));
    } finally {
      hold(name, -1);
    }
    if (left === undefined) left = roomHere(halved(rule), name);
    else note(false);
    if (left === 0) hold(name, 1);
    return guessResultOf(left);
  }

  return {
    async consume(rule, key) {
      const name = counterName(rule, key);
      // What Redis refuses is not counted here, or refused attempts would prolong the window.
      const usedUp = local.usedUp(rule, name);
      if (usedUp > 0) return resultOf(usedUp);
      const args = [rule.limit, rule.windowSeconds * 1000];
      const left = await unlessAway(async () =>
        Number((await shared?.consume(keysOf(name).slice(0, 1), args)) ?? 0),
      );
      if (left === undefined) return resultOf(local.consume(halved(rule), name));
      note(false);
      return resultOf(left > 0 ? left : local.consume(rule, name));
    },
    async refund(rule, key) {
      const name = counterName(rule, key);
      local.refund(name);
      await unlessAway(async () => shared?.refund(keysOf(name).slice(0, 1), []));
    },
    async beginGuess(rule, key, { wait } = { wait: true }) {
      const name = counterName(rule, key);
      const attempt = () => begin(rule, name);
      const first = wait && lines.has(name) ? busy : await attempt();
      return first.busy && wait ? lines.wait(name, busy, attempt) : first;
    },
    async endGuess(rule, key, outcome) {
      const name = counterName(rule, key);
      if (outcome === 'failed') local.add(rule, name);
      if (outcome === 'forgiven') local.reset(name);
      await unlessAway(async () => shared?.end(keysOf(name), [outcome, rule.windowSeconds * 1000]));
      hold(name, -1);
      lines.advance(name);
    },
    async used(rule, key) {
      const name = counterName(rule, key);
      const keys = keysOf(name).slice(0, 1);
      const left = await unlessAway(async () => Number((await shared?.used(keys, [rule.limit])) ?? 0));
      return Math.max(left ?? 0, local.usedUp(rule, name));
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

const halved = (rule: LimitRule): LimitRule => ({ ...rule, limit: Math.max(1, Math.floor(rule.limit / 2)) });

/** `left`: 0, or the milliseconds until the window ends. */
function resultOf(left: number): LimitResult {
  return { allowed: left === 0, retryAfterSeconds: Math.ceil(left / 1000) };
}

/** `left`: as `resultOf`, or negative for busy. */
function guessResultOf(left: number): GuessResult {
  return left < 0 ? busy : { ...resultOf(left), busy: false };
}

/** Keys are addresses, names and the like: hashed, so that they are bounded and not readable in Redis. */
function counterName(rule: LimitRule, key: string): string {
  return `${rule.name}:${hash('sha256', key, 'base64url').slice(0, 22)}`;
}
