import { addressKey } from '@tessera/stores';
import { normalizeStart } from '@tessera/kit';
import { Code, ConnectError } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError } from '@tessera/oauth';
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

/** A person whose password was right. */
export interface CheckedUser {
  readonly user: User;
  /** When the password was checked: milliseconds since the Unix epoch, by the directory's clock; undefined from an older one. */
  readonly signedInAt: number | undefined;
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

  async function count(from: BrowserCall, rule: LimitRule, key: string, failed: FailedSignIn): Promise<void> {
    const { allowed, retryAfterSeconds } = await limiter.consume(rule, key);
    if (allowed) return;
    audit.signInLimited(from, failed, rule.name);
    throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
  }

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
    return { user, signedInAt: signedInAtMs === 0n ? undefined : Number(signedInAtMs) };
  }

  /**
   * Refunds an attempt if the directory could not check it because it is unavailable or too busy, so that retries do not
   * use up the limits. An attempt whose caller left before the response stays counted.
   */
  async function refundingFailures<T>(
    from: BrowserCall,
    counted: readonly Counted[],
    check: () => Promise<T>,
  ): Promise<T> {
    try {
      return await check();
    } catch (error) {
      if (!from.call.signal.aborted) {
        for (const [rule, key] of counted) await limiter.refund(rule, key);
      }
      throw error;
    }
  }

  /**
   * Counts against the person. User name, e-mail address and phone number share that limit. Beyond it the response is that of a
   * wrong password, after the same work: an error of its own would reveal which identifiers exist and belong together.
   * Attempts with unknown identifiers are counted too, so that both take the same work.
   */
  async function countPerson(counter: string, counted: Counted[]): Promise<boolean> {
    const { allowed } = await limiter.consume(limits.person, counter);
    if (allowed) counted.push([limits.person, counter]);
    return allowed;
  }

  return async (from, credentials) => {
    const { tenantId, clientId, identifier } = credentials;
    const account = digest(`${tenantId}\n${accountName(identifier)}`);
    const failed: FailedSignIn = { tenantId, clientId, identifierReference: account.slice(0, 8) };
    const address = addressKey(from.browser.ipAddress);
    // The address first: an address over its limit cannot use up the attempts of an account. The totals last: failed
    // sign-ins beyond their limit do not use them up.
    const counted: Counted[] = [[limits.address, address]];
    await count(from, limits.address, address, failed);
    const { userId, knownBrowser } = await refundingFailures(from, counted, () =>
      identify(from, credentials),
    );
    const others: Counted[] = [
      knownBrowser === undefined ? [limits.account, account] : [limits.knownBrowser, knownBrowser],
      [limits.addressTotal, address],
      [limits.accountTotal, account],
    ];
    for (const [rule, key] of others) await count(from, rule, key, failed);
    counted.push(...others);
    const { withinLimit, verified } = await refundingFailures(from, counted, async () => {
      const counter = userId === undefined ? unknownKey(credentials) : personKey(tenantId, userId);
      const allowed = knownBrowser !== undefined || (await countPerson(counter, counted));
      return { withinLimit: allowed, verified: await verify(from, credentials) };
    });
    if (!withinLimit) audit.signInLimited(from, failed, limits.person.name);
    else if (verified === undefined) audit.signInFailed(from, failed);
    else {
      await limiter.refund(limits.address, address);
      if (knownBrowser !== undefined) await limiter.reset(limits.knownBrowser, knownBrowser);
      else {
        await limiter.reset(limits.account, account);
        await limiter.reset(limits.person, personKey(tenantId, verified.user.userId));
      }
    }
    return withinLimit ? verified : undefined;
  };
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
