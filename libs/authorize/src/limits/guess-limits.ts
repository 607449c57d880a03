import { addressKey } from '@tessera/stores';
import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import type { AuthorizeAudit, FailedSignIn } from '../audit.ts';
import { digest } from '../browser-call.ts';
import type { BrowserCall } from '../browser-call.ts';
import { accountName, countedSince, factorSince, personKey } from './guess-counters.ts';
import type { OwnCounter } from './known-browsers.ts';
import type { TellOfWrongCodes } from './tell-of-wrong-codes.ts';

/** A guess at what only one person knows or has. */
export interface Guess {
  readonly tenantId: string;
  /** Application that the person signs in to; empty at our own pages. */
  readonly clientId: string;
  /** Whom it is about: as typed, with a factor the ID of the person, unless it `begins` the sign-in, or else the identifier of the passkey. */
  readonly identifier: string;
  /** Whether nobody is known yet who has the factor: it is used in place of a password. */
  readonly begins?: boolean;
  /** What is used in place of a password, if anything: all its counters are its own, so that it locks no password, nor a password it. */
  readonly method?: typeof passkeyMethod;
  /** What is guessed, if it is no password: it has counters of its own, which a right password does not clear. */
  readonly factor?: string;
}

/** Limits of sign-ins: four of failed ones, two of all. */
export interface SignInLimits {
  /** By the identifier as typed. */
  readonly account: LimitRule;
  /** By the person that the identifier resolves to. */
  readonly person: LimitRule;
  /** By a person and a browser in which that person has signed in before, instead of `account` and `person`. */
  readonly knownBrowser: LimitRule;
  /** Of a code, in addition: by the person, or by the person and a known browser. The waits grow, and a right code clears none. */
  readonly codes: readonly LimitRule[];
  /** Codes and passkeys have counters of their own. */
  readonly address: LimitRule;
  /** As `account`, successful sign-ins included. */
  readonly accountTotal: LimitRule;
  /** As `address`, successful sign-ins included. */
  readonly addressTotal: LimitRule;
}

/** The factor of codes of an app and of recovery codes. Those of another kind have another factor, and counters of their own. */
export const codeFactor = 'totp';

const daySeconds = 24 * 3600;

/**
 * Failed codes in longer windows: after more of them the wait is longer, and with a known password nobody has more than a hundred a day
 * (RFC 4226 §7.3).
 */
export const codeLimits: readonly LimitRule[] = [
  { name: 'sign-in.codes-1h', limit: 20, windowSeconds: 3600 },
  { name: 'sign-in.codes-2h', limit: 30, windowSeconds: 2 * 3600 },
  { name: 'sign-in.codes-8h', limit: 60, windowSeconds: 8 * 3600 },
  { name: 'sign-in.codes-24h', limit: 100, windowSeconds: daySeconds },
];

/** A limit, and the key of the counter that an attempt was counted on. */
type Counted = readonly [LimitRule, string];

/** What an attempt was counted on. */
interface Attempt {
  /** Limits of failed attempts, on which it is to be ended. */
  readonly begun: Counted[];
  /** Limits of all attempts. */
  readonly counted: Counted[];
}

/** A sign-in by a passkey, be it in place of the password or after it. */
export const passkeyMethod = 'passkey' as const;

/** Whom a guess is about. */
export interface Guessed {
  readonly userId: string;
  /** Guesses before it no longer count, but for codes of a day: the person has another password since, or an administrator ended the lock. */
  readonly since: string;
}

/** How a guess is judged. */
export interface Judged<T> {
  /** Undefined for an unknown identifier. */
  readonly whose: () => Promise<Guessed | undefined>;
  /** What the guess proves; undefined if it is wrong. */
  readonly check: () => Promise<T | undefined>;
}

/** What a guess proves, within the limits; undefined for a wrong one. */
export type LimitGuesses = <T>(from: BrowserCall, guess: Guess, judged: Judged<T>) => Promise<T | undefined>;

/**
 * Counts guesses before they are judged, per address and per account, or on the counter that the browser has of its own for the
 * person (ADR 37). Beyond the limits it throws `rate_limited` and changes nothing else. Every method that can be guessed uses it.
 */
export function createGuessLimits(deps: {
  readonly ownCounter: OwnCounter;
  readonly limiter: Limiter;
  readonly limits: SignInLimits;
  readonly tellOfWrongCodes: TellOfWrongCodes;
  readonly audit: Pick<AuthorizeAudit, 'signInFailed' | 'signInLimited'>;
}): LimitGuesses {
  const { ownCounter, limiter, limits, tellOfWrongCodes, audit } = deps;
  const { begin, count, end } = createCounting(deps);

  /**
   * Takes an attempt back if the directory could not check it because it is unavailable or too busy, so that retries do not
   * use up the limits. An attempt whose caller left before the response stays counted.
   */
  async function unlessUnchecked<T>(
    from: BrowserCall,
    attempt: Attempt,
    check: () => Promise<T>,
  ): Promise<T> {
    try {
      return await check();
    } catch (error) {
      const left = from.call.signal.aborted;
      await end(attempt, left ? 'failed' : 'withdrawn');
      if (!left) await Promise.all(attempt.counted.map(([rule, key]) => limiter.refund(rule, key)));
      throw error;
    }
  }

  /**
   * Counts against the person. User name, e-mail address and phone number share that limit. Beyond it the response is that of a
   * wrong password, after the same work: an error of its own would reveal which identifiers exist and belong together.
   * Attempts with unknown identifiers are counted too, so that both take the same work.
   */
  async function countPerson(counter: string, { begun }: Attempt): Promise<boolean> {
    const { allowed } = await limiter.beginGuess(limits.person, counter);
    if (allowed) begun.push([limits.person, counter]);
    return allowed;
  }

  return async (from, guess, { whose, check }) => {
    const { tenantId, clientId, identifier, factor, method, begins = factor === undefined } = guess;
    const named = digest(`${tenantId}\n${nameOf(guess)}`);
    const isCode = factor !== undefined && method === undefined;
    const who: FailedSignIn['who'] =
      begins || factor === undefined
        ? { identifierReference: named.slice(0, 8), ...(factor !== undefined && { factor }) }
        : { userId: identifier, factor };
    const failed: FailedSignIn = { tenantId, clientId, who };
    const address = countedSince(addressKey(from.browser.ipAddress), undefined, factor ?? method);
    const attempt: Attempt = { begun: [], counted: [] };
    // The address first: an address over its limit cannot use up the attempts of an account. The totals last: failed
    // sign-ins beyond their limit do not use them up.
    await begin(from, attempt, [limits.address, address], failed);
    const { person, own } = await unlessUnchecked(from, attempt, async () => {
      const found = await whose();
      return { person: found, own: await ownCounter(from, tenantId, found?.userId) };
    });
    const keyed = (key: string) => countedSince(key, person?.since, factor ?? method);
    // An unlock ends no bound of a day, or it would be none to who unlocks, or asks for it, again and again.
    const ofDay = (key: string) => countedSince(key, factorSince(undefined), factor ?? method);
    const counted = isUnproven(guess) ? digest(`${named}\n${address}`) : named;
    const account = keyed(counted);
    await begin(
      from,
      attempt,
      own === undefined ? [limits.account, account] : [limits.knownBrowser, keyed(own)],
      failed,
    );
    const longer = isCode ? limits.codes : [];
    for (const rule of longer) {
      const named = rule.windowSeconds < daySeconds ? keyed : ofDay;
      await begin(from, attempt, [rule, named(own ?? counted)], failed);
    }
    // A sign-in counts once, however many factors it has.
    if (begins) await count(from, attempt, [limits.addressTotal, address], failed);
    await count(from, attempt, [limits.accountTotal, account], failed);
    // No user ID begins with a line break.
    const whom = personKey(tenantId, person === undefined ? `\n${counted}` : person.userId);
    const counter = keyed(whom);
    const { withinLimit, proven } = await unlessUnchecked(from, attempt, async () => {
      const allowed = own !== undefined || (await countPerson(counter, attempt));
      // A code is used up when it is judged. A password is judged all the same, as the time would tell.
      return { withinLimit: allowed, proven: allowed || factor === undefined ? await check() : undefined };
    });
    await end(attempt, withinLimit && proven !== undefined ? 'right' : 'failed');
    if (!withinLimit) audit.signInLimited(from, failed, limits.person.name);
    else if (proven === undefined) audit.signInFailed(from, failed);
    // Who is not known yet is not told while somebody waits: the time would say that there is such a person.
    if (withinLimit && proven === undefined && isCode && !begins)
      await tellOfWrongCodes(from, { tenantId, userId: identifier }, ofDay(whom));
    return withinLimit ? proven : undefined;
  };
}

/** Counts attempts, and says of an attempt what became of it. */
function createCounting({
  limiter,
  limits,
  audit,
}: {
  readonly limiter: Limiter;
  readonly limits: SignInLimits;
  readonly audit: Pick<AuthorizeAudit, 'signInLimited'>;
}) {
  /** Counts an attempt on one more limit of failed ones. Refused there, it still counts on those before. */
  async function begin(
    from: BrowserCall,
    attempt: Attempt,
    counted: Counted,
    failed: FailedSignIn,
  ): Promise<void> {
    const [rule, key] = counted;
    const { allowed, busy, retryAfterSeconds } = await limiter.beginGuess(rule, key);
    if (allowed) attempt.begun.push(counted);
    else if (busy) {
      await end(attempt, 'withdrawn');
      throw temporarilyUnavailable(new Error('Too many passwords are being checked.'), retryAfterSeconds);
    } else {
      await end(attempt, 'failed');
      throw limited(from, rule, retryAfterSeconds, failed);
    }
  }

  /** Counts an attempt on one more limit of all, successful or not. */
  async function count(
    from: BrowserCall,
    attempt: Attempt,
    counted: Counted,
    failed: FailedSignIn,
  ): Promise<void> {
    const [rule, key] = counted;
    const { allowed, retryAfterSeconds } = await limiter.consume(rule, key);
    if (allowed) return void attempt.counted.push(counted);
    await end(attempt, 'failed');
    throw limited(from, rule, retryAfterSeconds, failed);
  }

  function limited(
    from: BrowserCall,
    rule: LimitRule,
    retryAfterSeconds: number,
    failed: FailedSignIn,
  ): OAuthError {
    audit.signInLimited(from, failed, rule.name);
    return new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
  }

  /**
   * `right`: forgets the failed attempts, but not those of the address, which may be of other accounts, nor those of codes in longer windows:
   * the person signs in between the guesses of somebody who knows the password.
   */
  async function end({ begun }: Attempt, outcome: 'failed' | 'withdrawn' | 'right'): Promise<void> {
    const kept = new Set([limits.address, ...limits.codes]);
    const right = (rule: LimitRule) => (kept.has(rule) ? 'withdrawn' : 'forgiven');
    await Promise.all(
      begun.map(([rule, key]) => limiter.endGuess(rule, key, outcome === 'right' ? right(rule) : outcome)),
    );
  }

  return { begin, count, end };
}

/**
 * Whether anybody may name the passkey, as its answer is not checked yet: it is counted for each address apart, so that nobody elsewhere uses up
 * the attempts of its owner. Passkeys are not guessed.
 */
function isUnproven({ method, factor }: Guess): boolean {
  return method !== undefined && factor === undefined;
}

/** Identifiers of passkeys are chosen by whoever makes them: only equal ones are one. */
function nameOf({ identifier, method }: Guess): string {
  return method === undefined ? accountName(identifier) : identifier;
}
