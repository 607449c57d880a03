import type { Clock } from '@tessera/kit';
import type { GrantStore, FailureRule } from './grant-store.ts';

/** Counters of wrong user codes in the memory of one process. */
export interface FailureCounters {
  /** The first rule whose limit is reached, and the seconds until its window ends. */
  exceeded(
    rules: readonly FailureRule[],
  ): { readonly rule: FailureRule['name']; readonly retryAfterSeconds: number } | undefined;
  count(rules: readonly FailureRule[]): void;
}

/** Above this the oldest counter is dropped; the global rule is never dropped and still limits the rest. */
const maximumCounters = 50_000;

export function createFailureCounters(clock: Clock): FailureCounters {
  const counters = new Map<string, { count: number; readonly endsAt: number }>();
  const nameOf = ({ name, key }: FailureRule): string => `${name} ${key}`;

  function current(rule: FailureRule) {
    const counter = counters.get(nameOf(rule));
    if (counter === undefined || counter.endsAt > clock.now()) return counter;
    counters.delete(nameOf(rule));
    return undefined;
  }

  function startWindow(rule: FailureRule): void {
    if (counters.size >= maximumCounters) {
      const [oldest = ''] = [...counters.keys()].filter((name) => !name.startsWith('global '));
      counters.delete(oldest);
    }
    counters.set(nameOf(rule), { count: 1, endsAt: clock.now() + rule.windowSeconds * 1000 });
  }

  return {
    exceeded(rules) {
      for (const rule of rules) {
        const counter = current(rule);
        if (counter === undefined || counter.count < rule.limit) continue;
        const retryAfterSeconds = Math.ceil((counter.endsAt - clock.now()) / 1000);
        return { rule: rule.name, retryAfterSeconds };
      }
      return undefined;
    },
    count(rules) {
      for (const rule of rules) {
        const counter = current(rule);
        if (counter === undefined) startWindow(rule);
        else counter.count += 1;
      }
    },
  };
}

/**
 * Counts the wrong user codes of this process as well, and refuses a code when either limit is reached: a store that
 * lost its counters must not allow new attempts.
 */
export function withProcessFailureCounters(store: GrantStore, clock: Clock): GrantStore {
  const failures = createFailureCounters(clock);
  return {
    ...store,
    async open(userCodeHash, owner, rules) {
      const exceeded = failures.exceeded(rules);
      if (exceeded !== undefined) return { outcome: 'throttled', ...exceeded };
      const opening = await store.open(userCodeHash, owner, rules);
      if (opening.outcome !== 'found' && opening.outcome !== 'throttled') failures.count(rules);
      return opening;
    },
  };
}
