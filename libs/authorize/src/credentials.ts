import { addressKey, Code, ConnectError } from '@tessera/kit';
import type { Client, Limiter, LimitRule } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';
import type { DirectoryService, User } from '@tessera/proto-gen/directory';
import type { DirectoryClient } from '@tessera/directory-client';
import type { AuthorizeAudit, FailedSignIn } from './audit.ts';
import { digest } from './browser.ts';
import type { Visit } from './browser.ts';

export interface Credentials {
  readonly tenantId: string;
  /** Application the person signs in for; empty at the pages of `device`. */
  readonly clientId: string;
  readonly identifier: string;
  readonly password: string;
}

/** How often credentials may be tried. */
export interface SignInLimits {
  readonly account: LimitRule;
  readonly address: LimitRule;
}

/** Who the credentials belong to; undefined for unknown, wrong, locked and disabled alike. */
export type VerifyCredentials = (visit: Visit, credentials: Credentials) => Promise<User | undefined>;

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

  /**
   * The account that attempts under this identifier are counted for: the person, so that user name, e-mail address and
   * phone number share one budget; the identifier itself where it is nobody's, after the same question.
   */
  async function accountOf(visit: Visit, { tenantId, identifier }: Credentials): Promise<string> {
    const name = accountName(identifier);
    if (!isPossible(identifier, maximumIdentifierLength)) return name;
    try {
      const { user } = await directory.findUser({ tenantId, identifier }, visit.call.onward());
      // No name contains a line break.
      return user === undefined ? name : `user\n${user.userId}`;
    } catch (error) {
      if (error instanceof ConnectError && error.code === Code.NotFound) return name;
      throw error;
    }
  }

  async function verify(visit: Visit, credentials: Credentials): Promise<User | undefined> {
    const { tenantId, identifier, password } = credentials;
    if (!isPossible(identifier.trim(), maximumIdentifierLength)) return undefined;
    if (!isPossible(password, maximumPasswordLength)) return undefined;
    const { user } = await directory.verifyPassword({ tenantId, identifier, password }, visit.call.onward());
    const accepted = user !== undefined && user.tenantId === tenantId && records.isActive(user);
    return accepted ? user : undefined;
  }

  return async (visit, credentials) => {
    const { tenantId, clientId, identifier } = credentials;
    const identifierReference = digest(`${tenantId}\n${accountName(identifier)}`).slice(0, 8);
    const failed: FailedSignIn = { tenantId, clientId, identifierReference };
    // The address first: an address that is over its limit cannot use up the attempts of anybody's account.
    await count(visit, limits.address, addressKey(visit.browser.ipAddress), failed);
    const account = digest(`${tenantId}\n${await accountOf(visit, credentials)}`);
    await count(visit, limits.account, account, failed);
    const user = await verify(visit, credentials);
    if (user === undefined) audit.signInFailed(visit, failed);
    else await limiter.reset(limits.account, account);
    return user;
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
