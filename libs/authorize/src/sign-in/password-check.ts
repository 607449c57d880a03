import { addressKey } from '@tessera/stores';
import { Code, ConnectError } from '@tessera/rpc';
import type { Client } from '@tessera/rpc';
import type { Limiter, LimitRule } from '@tessera/stores';
import { OAuthError } from '@tessera/oauth';
import type { DirectoryService, User } from '@tessera/proto-gen/directory';
import type { DirectoryClient } from '@tessera/directory-client';
import type { AuthorizeAudit, FailedSignIn } from '../audit.ts';
import { digest } from '../browser.ts';
import type { Visit } from '../browser.ts';

export interface Credentials {
  readonly tenantId: string;
  /** Application the person signs in for; empty at the pages of `device`. */
  readonly clientId: string;
  readonly identifier: string;
  readonly password: string;
}

/** How often credentials may be tried. */
export interface SignInLimits {
  /** By what was typed. */
  readonly account: LimitRule;
  /** By the person it resolves to. */
  readonly person: LimitRule;
  readonly address: LimitRule;
}

/** Who signed in, and when. */
export interface Verified {
  readonly user: User;
  /** Milliseconds since the Unix epoch, by the directory's clock; undefined when it did not say. */
  readonly signedInAt: number | undefined;
}

/** Who the credentials belong to; undefined for unknown, wrong, locked and disabled alike. */
export type VerifyCredentials = (visit: Visit, credentials: Credentials) => Promise<Verified | undefined>;

/** Beyond these nothing is stored, so nothing can match; and a giant password is never hashed (CVE-2023-38492). */
const maximumIdentifierLength = 512;
const maximumPasswordLength = 1024;

/**
 * The one place where a password is tried. Attempts are counted before the check, per address and per account;
 * throws `rate_limited` beyond the limits and changes nothing else then.
 */
export function createVerifyCredentials(deps: {
  readonly directory: Client<typeof DirectoryService>;
  readonly records: Pick<DirectoryClient, 'isActive'>;
  readonly limiter: Limiter;
  readonly limits: SignInLimits;
  readonly audit: AuthorizeAudit;
}): VerifyCredentials {
  const { directory, records, limiter, limits, audit } = deps;

  async function count(visit: Visit, rule: LimitRule, key: string, failed: FailedSignIn): Promise<void> {
    const { allowed, retryAfterSeconds } = await limiter.consume(rule, key);
    if (allowed) return;
    audit.signInLimited(visit, failed, rule.name);
    throw new OAuthError('rate_limited', 'Too many attempts. Try again later.', { retryAfterSeconds });
  }

  async function resolve(visit: Visit, { tenantId, identifier }: Credentials): Promise<string | undefined> {
    if (!isPossible(identifier, maximumIdentifierLength)) return undefined;
    try {
      const { user } = await directory.findUser({ tenantId, identifier }, visit.call.onward());
      return user?.userId;
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
      throw error;
    }
  }

  async function verify(visit: Visit, credentials: Credentials): Promise<Verified | undefined> {
    const { tenantId, identifier, password } = credentials;
    if (!isPossible(identifier.trim(), maximumIdentifierLength)) return undefined;
    if (!isPossible(password, maximumPasswordLength)) return undefined;
    const answer = await directory.verifyPassword({ tenantId, identifier, password }, visit.call.onward());
    const { user, signedInAtMs } = answer;
    if (user?.tenantId !== tenantId || !records.isActive(user)) return undefined;
    return { user, signedInAt: signedInAtMs === 0n ? undefined : Number(signedInAtMs) };
  }

  /**
   * What nobody judged, because the directory is away or too busy, is held against nobody: who tries again meanwhile is not
   * to be refused afterwards. Who left before the answer is no such person.
   */
  async function judged<T>(
    visit: Visit,
    counted: readonly (readonly [LimitRule, string])[],
    judge: () => Promise<T>,
  ): Promise<T> {
    try {
      return await judge();
    } catch (error) {
      if (!visit.call.signal.aborted) {
        for (const [rule, key] of counted) await limiter.refund(rule, key);
      }
      throw error;
    }
  }

  return async (visit, credentials) => {
    const { tenantId, clientId, identifier } = credentials;
    const identifierReference = digest(`${tenantId}\n${accountName(identifier)}`).slice(0, 8);
    const failed: FailedSignIn = { tenantId, clientId, identifierReference };
    // The address first: an address that is over its limit cannot use up the attempts of anybody's account.
    await count(visit, limits.address, addressKey(visit.browser.ipAddress), failed);
    const account = digest(`${tenantId}\n${accountName(identifier)}`);
    await count(visit, limits.account, account, failed);
    const counted: [LimitRule, string][] = [
      [limits.address, addressKey(visit.browser.ipAddress)],
      [limits.account, account],
    ];
    const { withinLimit, verified } = await judged(visit, counted, async () => {
      const person = await resolve(visit, credentials);
      // User name, e-mail address and phone number share the budget of their person. Beyond it the answer is that of a
      // wrong password, after the same work: a refusal of its own would tell which identifiers are somebody's, and whose.
      // Nobody is counted like anybody else, so that both take the same work.
      const counter = person === undefined ? nobodyKey(credentials) : personKey(tenantId, person);
      const { allowed } = await limiter.consume(limits.person, counter);
      if (allowed) counted.push([limits.person, counter]);
      return { withinLimit: allowed, verified: await verify(visit, credentials) };
    });
    if (!withinLimit) audit.signInLimited(visit, failed, limits.person.name);
    else if (verified === undefined) audit.signInFailed(visit, failed);
    else {
      await limiter.refund(limits.address, addressKey(visit.browser.ipAddress));
      await limiter.reset(limits.account, account);
      await limiter.reset(limits.person, personKey(tenantId, verified.user.userId));
    }
    return withinLimit ? verified : undefined;
  };
}

/** Whether anything stored can match it at all. */
function isPossible(value: string, maximumLength: number): boolean {
  return value !== '' && value.length <= maximumLength;
}

/**
 * The name under which attempts with an identifier of nobody are counted. It is made from the form in which the
 * directory compares identifiers, and coarser, so that no other spelling of one identifier gets attempts of its own.
 */
export function accountName(identifier: string): string {
  const compared = identifier.trim().normalize('NFC').toLowerCase();
  return compared
    .normalize('NFKC')
    .toLowerCase()
    .replaceAll(/[\s().\u00ad\u200b-\u200f\u2060\ufeff-]/g, '');
}

function personKey(tenantId: string, userId: string): string {
  return digest(`${tenantId}\n${userId}`);
}

/** The counter of whom no identifier resolves to; no user id begins with a line break. */
function nobodyKey({ tenantId, identifier }: Credentials): string {
  return personKey(tenantId, `\n${accountName(identifier)}`);
}
