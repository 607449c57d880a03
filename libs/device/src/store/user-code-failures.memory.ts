import type { Clock } from '@tessera/kit';
import type { GrantStore, GuessRule } from './store.ts';

/** Counters of wrong guesses in the memory of one process. */
export interface Guesses {
  /** The first rule that is used up, and the seconds until its window ends. */
  usedUp(
    rules: readonly GuessRule[],
  ): { readonly rule: GuessRule['name']; readonly retryAfterSeconds: number } | undefined;
  count(rules: readonly GuessRule[]): void;
}

/** Beyond this the oldest window is forgotten; the global rule still bounds what that allows. */
const maximumCounters = 50_000;

export function createGuesses(clock: Clock): Guesses {
  const counters = new Map<string, { count: number; readonly endsAt: number }>();
  const nameOf = ({ name, key }: GuessRule): string => `${name} ${key}`;

  function living(rule: GuessRule) {
    const counter = counters.get(nameOf(rule));
    if (counter === undefined || counter.endsAt > clock.now()) return counter;
    counters.delete(nameOf(rule));
    return undefined;
  }

  function begin(rule: GuessRule): void {
    if (counters.size >= maximumCounters) {
      const [oldest = ''] = [...counters.keys()].filter((name) => !name.startsWith('global '));
      counters.delete(oldest);
    }
    counters.set(nameOf(rule), { count: 1, endsAt: clock.now() + rule.windowSeconds * 1000 });
  }

  return {
    usedUp(rules) {
      for (const rule of rules) {
        const counter = living(rule);
        if (counter === undefined || counter.count < rule.limit) continue;
        const retryAfterSeconds = Math.ceil((counter.endsAt - clock.now()) / 1000);
        return { rule: rule.name, retryAfterSeconds };
      }
      return undefined;
    },
    count(rules) {
      for (const rule of rules) {
        const counter = living(rule);
        if (counter === undefined) begin(rule);
        else counter.count += 1;
      }
    },
  };
}

/**
 * Counts the wrong guesses of this process as well: a guess is refused when the store or the process has no more of
 * them, because a store that lost its counters must not hand out new ones.
 */
export function withOwnGuesses(store: GrantStore, clock: Clock): GrantStore {
  const guesses = createGuesses(clock);
  return {
    ...store,
    async open(userCodeHash, owner, rules) {
      const usedUp = guesses.usedUp(rules);
      if (usedUp !== undefined) return { outcome: 'throttled', ...usedUp };
      const opening = await store.open(userCodeHash, owner, rules);
      if (opening.outcome !== 'found' && opening.outcome !== 'throttled') guesses.count(rules);
      return opening;
    },
  };
}
