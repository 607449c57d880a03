import { boundedCache, type Clock } from '@tessera/kit';

export interface LimitRule {
  /** For example `sign-in.account`; part of the key. */
  readonly name: string;
  /** Attempts, or failed guesses, that are let through in one window. */
  readonly limit: number;
  /** The window begins with the first attempt, or the first failed guess. */
  readonly windowSeconds: number;
}

const maxCounters = 100_000;

/**
 * Counters in the memory of this process. They answer 0, or the milliseconds until the window of a used-up one ends.
 */
export function createCounters(clock: Clock) {
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
  function add(rule: LimitRule, name: string): void {
    const found = living(name);
    if (found === undefined)
      counters.set(name, { count: 1, endsAt: clock.now() + rule.windowSeconds * 1000 });
    else found.count += 1;
  }
  return {
    usedUp,
    add,
    /** Counts one attempt unless the limit is reached. */
    consume(rule: LimitRule, name: string): number {
      const left = usedUp(rule, name);
      if (left === 0) add(rule, name);
      return left;
    },
    refund(name: string): void {
      const found = living(name);
      if (found !== undefined && found.count > 0) found.count -= 1;
    },
    count: (name: string): number => living(name)?.count ?? 0,
    reset: (name: string) => void counters.delete(name),
  };
}
