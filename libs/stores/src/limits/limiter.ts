import { hash } from 'node:crypto';
import type { Logger } from 'pino';
import type { Clock } from '@tessera/kit';
import { createCounters, type LimitRule } from './counters.ts';
import type { RedisHandle } from '../redis/redis.ts';
import { createSharedCounters, type Named, type NamedOutcome, type Outcome } from './shared-counters.ts';
import { WaitingLines } from './waiting-lines.ts';

export interface LimitResult {
  readonly allowed: boolean;
  /** 0 when allowed. */
  readonly retryAfterSeconds: number;
}

export interface GuessResult extends LimitResult {
  /**
   * Refused although fewer guesses failed than the limit: those in progress take what is left, and nothing is known
   * about them yet. The caller is to try again, and is told nothing about the limit.
   */
  readonly busy: boolean;
}

/** What an attempt, or a guess of a secret, is counted on. */
export interface Counted {
  readonly rule: LimitRule;
  readonly key: string;
  readonly of: 'attempts' | 'guesses';
}

export interface EndedGuess {
  readonly rule: LimitRule;
  readonly key: string;
  readonly outcome: Outcome;
}

/**
 * Limits of two kinds: of attempts, all of which count, and of guesses of a secret, of which the failed ones count. A
 * rule is of one kind.
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
   * Counts on several limits, each as `consume` or `beginGuess` would, one after the other up to the first that
   * refuses. Returns the results up to that one. Where Redis is no cluster, limits that need not be waited for are one
   * round trip.
   */
  countAll(counters: readonly Counted[]): Promise<readonly GuessResult[]>;
  /** Ends a guess. */
  endGuess(rule: LimitRule, key: string, outcome: Outcome): Promise<void>;
  /** Ends a guess on several limits, in one round trip where Redis is no cluster. */
  endGuesses(ended: readonly EndedGuess[]): Promise<void>;
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
const busy: GuessResult = { allowed: false, busy: true, retryAfterSeconds: 1 };

/**
 * A limiter on Redis and on the memory of this process: an attempt is refused when either has no more of them, because
 * a Redis that lost its counters must not hand out new ones. While Redis is unavailable the memory limits alone, at
 * half the rate, and one line `ratelimit.degraded` says so.
 */
export function createLimiter(deps: LimiterDeps): Limiter {
  const { local, shared, count, end } = createCounting(deps);
  const lines = new WaitingLines<GuessResult>(patienceMs);
  const begin = async (counter: Named) => guessResultOf((await count([counter]))[0] ?? -1);

  /** Up to the first that refuses, which is waited for while it is busy. */
  async function countAll(counters: readonly Named[]): Promise<readonly GuessResult[]> {
    const results: GuessResult[] = [];
    while (results.length < counters.length && results.at(-1)?.allowed !== false) {
      const rest = counters.slice(results.length, results.length + shared.mostAtOnce);
      const awaited = rest.findIndex(({ name, of }) => of === 'guesses' && lines.has(name));
      // Nobody comes before those who wait already.
      const free = awaited === -1 ? rest : rest.slice(0, awaited);
      const tried = free.length === 0 ? [busy] : (await count(free)).map(guessResultOf);
      const last = rest[tried.length - 1];
      if (last !== undefined && tried.at(-1)?.busy === true)
        tried[tried.length - 1] = await lines.wait(last.name, busy, () => begin(last));
      results.push(...tried);
    }
    return results;
  }

  async function endGuesses(ended: readonly EndedGuess[]): Promise<void> {
    const outcomes = ended.map(({ rule, key, outcome }) => ({ rule, name: counterName(rule, key), outcome }));
    await end(outcomes);
    for (const { name } of outcomes) lines.advance(name);
  }

  return {
    async consume(rule, key) {
      const [left = 0] = await count([named({ rule, key, of: 'attempts' })]);
      return resultOf(left);
    },
    async refund(rule, key) {
      const name = counterName(rule, key);
      local.refund(name);
      await shared.refund(name);
    },
    async beginGuess(rule, key, { wait } = { wait: true }) {
      const counter = named({ rule, key, of: 'guesses' });
      if (!wait) return begin(counter);
      const [result = busy] = await countAll([counter]);
      return result;
    },
    countAll: async (counters) => countAll(counters.map(named)),
    endGuess: async (rule, key, outcome) => endGuesses([{ rule, key, outcome }]),
    endGuesses,
    async used(rule, key) {
      const name = counterName(rule, key);
      return Math.max(await shared.used(rule, name), local.usedUp(rule, name));
    },
  };
}

/** Counts in Redis and in the memory of this process. */
function createCounting({ redis, clock, log, prefix }: LimiterDeps) {
  const local = createCounters(clock);
  const shared = createSharedCounters(redis, log, prefix);
  /** Guesses of this process in progress. */
  const begun = new Map<string, number>();

  function hold(name: string, change: 1 | -1): void {
    const guesses = (begun.get(name) ?? 0) + change;
    if (guesses > 0) begun.set(name, guesses);
    else begun.delete(name);
  }

  /** As Redis answers: 0 if there is room for those already counted and one more. */
  function roomHere({ rule, name, of }: Named): number {
    const left = local.usedUp(rule, name);
    if (left > 0 || of === 'attempts') return left;
    return local.count(name) + (begun.get(name) ?? 0) < rule.limit ? 0 : -1;
  }

  /**
   * Counts what Redis let through, or while it is unavailable, without its `answer`, what this process lets through by
   * itself.
   */
  function countHere(given: Named, answer: number | undefined): number {
    if (answer !== undefined && answer !== 0) return answer;
    const counter = answer === 0 ? given : { ...given, rule: halved(given.rule) };
    if (counter.of === 'attempts') return local.consume(counter.rule, counter.name);
    const left = answer ?? roomHere(counter);
    if (left === 0) hold(counter.name, 1);
    return left;
  }

  /** As `countScript`, without waiting. */
  async function count(counters: readonly Named[]): Promise<readonly number[]> {
    const refusals = counters.map(roomHere);
    const refusing = refusals.findIndex((left) => left !== 0);
    // What is used up here is not asked for, nor is what Redis refuses counted here,
    // or refused attempts would prolong the window.
    const asked = refusing === -1 ? counters : counters.slice(0, refusing);
    const guesses = asked.filter(({ of }) => of === 'guesses');
    // Held before Redis is asked, or all that come meanwhile would ask it too.
    for (const { name } of guesses) hold(name, 1);
    let answers: readonly number[] | undefined;
    try {
      answers = await shared.count(asked);
    } finally {
      for (const { name } of guesses) hold(name, -1);
    }
    const results: number[] = [];
    for (const counter of asked) {
      results.push(countHere(counter, answers?.[results.length]));
      if (results.at(-1) === 0) continue;
      // What comes after a limit that another attempt has used up here meanwhile was counted by Redis only.
      const counted = answers?.slice(results.length).filter((left) => left === 0) ?? [];
      await shared.takeBack(asked.slice(results.length, results.length + counted.length));
      return results;
    }
    return refusing === -1 ? results : [...results, refusals[refusing] ?? -1];
  }

  async function end(ended: readonly NamedOutcome[]): Promise<void> {
    for (const { rule, name, outcome } of ended) {
      if (outcome === 'failed') local.add(rule, name);
      if (outcome === 'forgiven') local.reset(name);
    }
    await shared.end(ended);
    for (const { name } of ended) hold(name, -1);
  }

  return { local, shared, count, end };
}

const halved = (rule: LimitRule): LimitRule => ({ ...rule, limit: Math.max(1, Math.floor(rule.limit / 2)) });

const named = ({ rule, key, of }: Counted): Named => ({ rule, name: counterName(rule, key), of });

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
