import { addressKey } from '@tessera/stores';
import { normalizeStart } from '@tessera/kit';
import { Code, ConnectError } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import type { DirectoryService, User } from '@tessera/proto-gen/directory';
import type { DirectoryClient } from '@tessera/directory-client';
import type { AuthorizeAudit, FailedSignIn } from '../audit.ts';
import { digest, knownBrowserHash } from '../browser.ts';
import type { BrowserCall } from '../browser.ts';
import type { KnownBrowserStore } from '../store/known-browsers.postgres.ts';

export interface PasswordCredentials {
  readonly tenantId: string;
  /** Application that the person signs in to; empty at the pages of `device`. */
  readonly clientId: string;
  readonly identifier: string;
  readonly password: string;
}

/** Limits of sign-ins: four of failed ones, two of all. */
export interface SignInLimits {
  /** By the identifier as typed. */
  readonly account: LimitRule;
  /** By the person that the identifier resolves to. */
  readonly person: LimitRule;
  /** By a person and a browser in which that person has signed in before, instead of `account` and `person`. */
  readonly knownBrowser: LimitRule;
  readonly address: LimitRule;
  /** As `account`, successful sign-ins included. */
  readonly accountTotal: LimitRule;
  /** As `address`, successful sign-ins included. */
  readonly addressTotal: LimitRule;
}

/** A limit, and the key of the counter that an attempt was counted on. */
type Counted = readonly [LimitRule, string];

/** What an attempt was counted on. */
interface Attempt {
  /** Limits of failed attempts, on which it is to be ended. */
  readonly begun: Counted[];
  /** Limits of all attempts. */
  readonly counted: Counted[];
}

/** A person whose password was right. */
export interface CheckedUser {
  readonly user: User;
  /** When the password was checked: milliseconds since the Unix epoch, by the directory's clock; undefined from an older one. */
  readonly signedInAt: number | undefined;
  /** How the person was identified: the `amr` claim (RFC 8176 §2). */
  readonly methods: readonly string[];
}

interface Identified {
  /** Undefined for an unknown identifier. */
  readonly userId: string | undefined;
  /** Key of the browser's own counter; undefined if the browser is not known for the person. */
  readonly knownBrowser: string | undefined;
}

/** The person whom the credentials belong to; undefined for unknown, wrong, locked and disabled alike. */
export type CheckPassword = (
  from: BrowserCall,
  credentials: PasswordCredentials,
) => Promise<CheckedUser | undefined>;

/** Longer values are never stored, so they cannot match; and a giant password is never hashed (CVE-2023-38492). */
const maximumIdentifierLength = 512;
const maximumPasswordLength = 1024;

/**
 * Checks passwords, at the only place where this is done. Attempts are counted before the check, per address and per
 * account, or per account and browser if the person has signed in there before (ADR 37). Beyond the limits it throws
 * `rate_limited` and changes nothing else.
 */
export function createPasswordCheck(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'isActive'>;
  readonly knownBrowsers: Pick<KnownBrowserStore, 'isKnown'>;
  readonly limiter: Limiter;
  readonly limits: SignInLimits;
  readonly audit: AuthorizeAudit;
}): CheckPassword {
  const { directoryService, directory, limiter, limits, audit } = deps;
  const identify = createIdentification(deps);
  const { begin, count, end } = createCounting(deps);

  async function verify(
    from: BrowserCall,
    credentials: PasswordCredentials,
  ): Promise<CheckedUser | undefined> {
    const { tenantId, identifier, password } = credentials;
    if (!isPossible(identifier.trim(), maximumIdentifierLength)) return undefined;
    if (!isPossible(password, maximumPasswordLength)) return undefined;
    const answer = await directoryService.verifyPassword(
      { tenantId, identifier, password, ipAddress: from.browser.ipAddress },
      from.call.onward(),
    );
    const { user, signedInAtMs } = answer;
    if (user?.tenantId !== tenantId || !directory.isActive(user)) return undefined;
    return { user, signedInAt: signedInAtMs === 0n ? undefined : Number(signedInAtMs), methods: ['pwd'] };
  }

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

  return async (from, credentials) => {
    const { tenantId, clientId, identifier } = credentials;
    const account = digest(`${tenantId}\n${accountName(identifier)}`);
    const failed: FailedSignIn = { tenantId, clientId, identifierReference: account.slice(0, 8) };
    const address = addressKey(from.browser.ipAddress);
    const attempt: Attempt = { begun: [], counted: [] };
    // The address first: an address over its limit cannot use up the attempts of an account. The totals last: failed
    // sign-ins beyond their limit do not use them up.
    await begin(from, attempt, [limits.address, address], failed);
    const { userId, knownBrowser } = await unlessUnchecked(from, attempt, () => identify(from, credentials));
    const own: Counted =
      knownBrowser === undefined ? [limits.account, account] : [limits.knownBrowser, knownBrowser];
    await begin(from, attempt, own, failed);
    await count(from, attempt, [limits.addressTotal, address], failed);
    await count(from, attempt, [limits.accountTotal, account], failed);
    const { withinLimit, verified } = await unlessUnchecked(from, attempt, async () => {
      const counter = userId === undefined ? unknownKey(credentials) : personKey(tenantId, userId);
      const allowed = knownBrowser !== undefined || (await countPerson(counter, attempt));
      return { withinLimit: allowed, verified: await verify(from, credentials) };
    });
    await end(attempt, withinLimit && verified !== undefined ? 'right' : 'failed');
    if (!withinLimit) audit.signInLimited(from, failed, limits.person.name);
    else if (verified === undefined) audit.signInFailed(from, failed);
    return withinLimit ? verified : undefined;
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
  readonly audit: AuthorizeAudit;
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

  /** `right`: forgets the failed attempts, but not those of the address: they may be of other accounts. */
  async function end({ begun }: Attempt, outcome: 'failed' | 'withdrawn' | 'right'): Promise<void> {
    const right = (rule: LimitRule) => (rule === limits.address ? 'withdrawn' : 'forgiven');
    await Promise.all(
      begun.map(([rule, key]) => limiter.endGuess(rule, key, outcome === 'right' ? right(rule) : outcome)),
    );
  }

  return { begin, count, end };
}

/** Finds out whose password an attempt guesses, and which counter of a known browser it counts on. */
function createIdentification(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly knownBrowsers: Pick<KnownBrowserStore, 'isKnown'>;
}): (from: BrowserCall, credentials: PasswordCredentials) => Promise<Identified> {
  const { directoryService, knownBrowsers } = deps;

  async function resolve(
    from: BrowserCall,
    { tenantId, identifier }: PasswordCredentials,
  ): Promise<string | undefined> {
    if (!isPossible(identifier, maximumIdentifierLength)) return undefined;
    try {
      const { user } = await directoryService.findUser({ tenantId, identifier }, from.call.onward());
      return user?.userId;
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
      throw error;
    }
  }

  return async (from, credentials) => {
    const { tenantId } = credentials;
    const userId = await resolve(from, credentials);
    // Without a person the store is asked too, so that unknown identifiers take the same work.
    const tokenHash = knownBrowserHash(from.browser.knownBrowserToken);
    const isKnown =
      tokenHash !== undefined && (await knownBrowsers.isKnown(tokenHash, tenantId, userId ?? ''));
    return { userId, knownBrowser: isKnown ? browserKey(tenantId, userId ?? '', tokenHash) : undefined };
  };
}

/** Whether a stored value can match it. */
function isPossible(value: string, maximumLength: number): boolean {
  return value !== '' && value.length <= maximumLength;
}

/**
 * The name under which attempts with an unknown identifier are counted. It is coarser than the form in which the directory
 * compares identifiers, so that another spelling of an identifier gets no further attempts. Of an identifier that is too long
 * to exist only the start counts.
 */
export function accountName(identifier: string): string {
  const compared = normalizeStart(identifier.trim(), 'NFC', maximumIdentifierLength).toLowerCase();
  return normalizeStart(compared, 'NFKC', compared.length)
    .toLowerCase()
    .replaceAll(/[\s().\u00ad\u200b-\u200f\u2060\ufeff-]/g, '');
}

function personKey(tenantId: string, userId: string): string {
  return digest(`${tenantId}\n${userId}`);
}

function browserKey(tenantId: string, userId: string, tokenHash: Buffer): string {
  return digest(`${tenantId}\n${userId}\n${tokenHash.toString('hex')}`);
}

/** The counter of an identifier that resolves to nobody; no user ID begins with a line break. */
function unknownKey({ tenantId, identifier }: PasswordCredentials): string {
  return personKey(tenantId, `\n${accountName(identifier)}`);
}
