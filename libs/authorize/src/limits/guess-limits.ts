import { addressKey } from '@tessera/stores';
import type { Counted, Limiter, LimitRule } from '@tessera/stores';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import type { AuthorizeAudit, FailedSignIn } from '../audit.ts';
import type { AuthorizeConfig } from '../config.ts';
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
  /**
   * Whom it is about: as typed, with a factor the ID of the person, unless it `begins` the sign-in, or else the
   * identifier of the passkey.
   */
  readonly identifier: string;
  /** Whether nobody is known yet who has the factor: it is used in place of a password. */
  readonly begins?: boolean;
  /** Whether it is known whom it is about, who may be told of every lock; unless given, if it does not begin. */
  readonly isKnown?: boolean;
  /**
   * What is used in place of a password, if anything: all its counters are its own, so that it locks no password, nor a
   * password it.
   */
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
  /**
   * Of a code, in addition: by the person, or by the person and a known browser. The waits grow, and a right code
   * clears none.
   */
  readonly codes: readonly LimitRule[];
  /** Codes and passkeys have counters of their own. */
  readonly address: LimitRule;
  /** As `account`, successful sign-ins included. */
  readonly accountTotal: LimitRule;
  /** As `address`, successful sign-ins included. */
  readonly addressTotal: LimitRule;
}

export const daySeconds = 24 * 3600;

/**
 * Failed codes in longer windows: after more of them the wait is longer, and with a known password nobody has more than
 * a hundred a day (RFC 4226 §7.3).
 */
export const codeLimits: readonly LimitRule[] = [
  { name: 'sign-in.codes-1h', limit: 20, windowSeconds: 3600 },
  { name: 'sign-in.codes-2h', limit: 30, windowSeconds: 2 * 3600 },
  { name: 'sign-in.codes-8h', limit: 60, windowSeconds: 8 * 3600 },
  { name: 'sign-in.codes-24h', limit: 100, windowSeconds: daySeconds },
];

/** What an attempt was counted on: limits of failed ones, on which it is to be ended, and limits of all. */
type Attempt = Counted[];

/** A sign-in by a passkey, be it in place of the password or after it. */
export const passkeyMethod = 'passkey' as const;

/** Whom a guess is about. */
export interface Guessed {
  readonly userId: string;
  /**
   * Guesses before it no longer count, but for codes of a day: the person has another password since, or an
   * administrator ended the lock.
   */
  readonly since: string;
  /** As in the directory: browsers of sign-ins before it are not known for the person. */
  readonly lockedDownAt: bigint;
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
 * Counts guesses before they are judged, per address and per account, or on the counter that the browser has of its own
 * for the person (ADR 37). Beyond the limits it throws `rate_limited` and changes nothing else. Every method that can
 * be guessed uses it.
 */
export function createGuessLimits(deps: {
  readonly ownCounter: OwnCounter;
  readonly limiter: Limiter;
  readonly limits: SignInLimits;
  readonly tellOfWrongCodes: TellOfWrongCodes;
  readonly audit: Pick<AuthorizeAudit, 'signInFailed' | 'signInLimited'>;
}): LimitGuesses {
  const { ownCounter, limiter, limits, tellOfWrongCodes, audit } = deps;
  const { count, end } = createCounting(deps);

  /**
   * Takes an attempt back if the directory could not check it because it is unavailable or too busy, so that retries do
   * not use up the limits. An attempt whose caller left before the response stays counted.
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
      const totals = attempt.filter(({ of }) => of === 'attempts');
      if (!left) await Promise.all(totals.map(({ rule, key }) => limiter.refund(rule, key)));
      throw error;
    }
  }

  return async (from, guess, { whose, check }) => {
    const { tenantId, clientId, identifier, factor, method, begins = factor === undefined } = guess;
    const { isKnown = !begins } = guess;
    const named = digest(`${tenantId}\n${nameOf(guess)}`);
    const isCode = factor !== undefined && method === undefined;
    const who: FailedSignIn['who'] =
      begins || factor === undefined
        ? { identifierReference: named.slice(0, 8), ...(factor !== undefined && { factor }) }
        : { userId: identifier, factor };
    let failed: FailedSignIn = { tenantId, clientId, who };
    const address = countedSince(addressKey(from.browser.ipAddress), undefined, factor ?? method);
    const attempt: Attempt = [];
    // The address first, and alone: an address over its limit cannot use up the attempts of an account, nor have
    // anybody looked up.
    await count(from, attempt, [failures(limits.address, address)], failed);
    const { person, own } = await unlessUnchecked(from, attempt, async () => {
      const found = await whose();
      return { person: found, own: await ownCounter(from, tenantId, found) };
    });
    if (person !== undefined) failed = { ...failed, who: { ...who, userId: person.userId } };
    const keyed = (key: string) => countedSince(key, person?.since, factor ?? method);
    // An unlock ends no bound of a day, or it would be none to who unlocks, or asks for it, again and again.
    const ofDay = (key: string) => countedSince(key, factorSince(undefined), factor ?? method);
    const counted = isUnproven(guess) ? digest(`${named}\n${address}`) : named;
    const account = keyed(counted);
    const longer = (isCode ? limits.codes : []).map((rule) =>
      failures(rule, (rule.windowSeconds < daySeconds ? keyed : ofDay)(own ?? counted)),
    );
    // No user ID begins with a line break.
    const whom = personKey(tenantId, person === undefined ? `\n${counted}` : person.userId);
    // The totals after those of failed sign-ins, which do not use them up beyond their limit.
    const others = [
      own === undefined ? failures(limits.account, account) : failures(limits.knownBrowser, keyed(own)),
      ...longer,
      // A sign-in counts once, however many factors it has.
      ...(begins ? [total(limits.addressTotal, address)] : []),
      total(limits.accountTotal, account),
      ...(own === undefined ? [failures(limits.person, keyed(whom))] : []),
    ];
    const withinLimit = await count(from, attempt, others, failed, isKnown);
    // A code is used up when it is judged. A password is judged all the same, as the time would tell.
    const proven =
      withinLimit || factor === undefined ? await unlessUnchecked(from, attempt, check) : undefined;
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
  /**
   * Counts an attempt on more limits, in order. Refused at one, it still counts on those before. That throws, except at
   * the limit of the person, where it returns false of who is not known yet. User name, e-mail address and phone
   * number share that limit. Beyond it the response is that of a wrong password, after the same work: an error of its
   * own would reveal which identifiers exist and belong together. Attempts with unknown identifiers are counted too, so
   * that both take the same work.
   */
  async function count(
    from: BrowserCall,
    attempt: Attempt,
    counters: readonly Counted[],
    failed: FailedSignIn,
    isKnown = false,
  ): Promise<boolean> {
    const results = await limiter.countAll(counters);
    attempt.push(...counters.filter((_, index) => results[index]?.allowed === true));
    const last = counters[results.length - 1];
    const result = results.at(-1);
    if (last === undefined || result === undefined) throw new Error('nothing was counted');
    if (result.allowed) return true;
    if (last.rule === limits.person && !isKnown) return false;
    const { busy, retryAfterSeconds } = result;
    await end(attempt, busy ? 'withdrawn' : 'failed');
    if (busy)
      throw temporarilyUnavailable(new Error('Too many passwords are being checked.'), retryAfterSeconds);
    throw limited(from, last.rule, retryAfterSeconds, failed);
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
   * `right`: forgets the failed attempts, but not those of the address, which may be of other accounts, nor those of
   * codes in longer windows: the person signs in between the guesses of somebody who knows the password.
   */
  async function end(attempt: Attempt, outcome: 'failed' | 'withdrawn' | 'right'): Promise<void> {
    const kept = new Set([limits.address, ...limits.codes]);
    const right = (rule: LimitRule) => (kept.has(rule) ? 'withdrawn' : 'forgiven');
    const begun = attempt.filter(({ of }) => of === 'guesses');
    await limiter.endGuesses(
      begun.map(({ rule, key }) => ({ rule, key, outcome: outcome === 'right' ? right(rule) : outcome })),
    );
  }

  return { count, end };
}

const failures = (rule: LimitRule, key: string): Counted => ({ rule, key, of: 'guesses' });
const total = (rule: LimitRule, key: string): Counted => ({ rule, key, of: 'attempts' });

/**
 * Whether anybody may name the passkey, as its answer is not checked yet: it is counted for each address apart, so that
 * nobody elsewhere uses up the attempts of its owner. Passkeys are not guessed.
 */
function isUnproven({ method, factor }: Guess): boolean {
  return method !== undefined && factor === undefined;
}

/** Identifiers of passkeys are chosen by whoever makes them: only equal ones are one. */
function nameOf({ identifier, method }: Guess): string {
  return method === undefined ? accountName(identifier) : identifier;
}

/** Successful sign-ins cost hashing, not safety: of all there may be a hundred times as many as of failed ones. */
const signInsPerFailure = 100;

/** The limits of sign-ins that the settings give. */
export function limitsOf(config: AuthorizeConfig): SignInLimits {
  const windowSeconds = config.TESSERA_LOGIN_FAILURES_WINDOW;
  return {
    account: { name: 'sign-in.account', limit: config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT, windowSeconds },
    codes: codeLimits,
    person: { name: 'sign-in.person', limit: config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT, windowSeconds },
    knownBrowser: {
      name: 'sign-in.known-browser',
      limit: config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT,
      windowSeconds,
    },
    accountTotal: {
      name: 'sign-in.account-total',
      limit: signInsPerFailure * config.TESSERA_LOGIN_FAILURES_PER_ACCOUNT,
      windowSeconds,
    },
    addressTotal: {
      name: 'sign-in.address-total',
      limit: signInsPerFailure * config.TESSERA_LOGIN_FAILURES_PER_ADDRESS,
      windowSeconds,
    },
    address: { name: 'sign-in.address', limit: config.TESSERA_LOGIN_FAILURES_PER_ADDRESS, windowSeconds },
  };
}
