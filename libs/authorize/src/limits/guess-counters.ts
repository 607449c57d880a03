import { normalizeStart } from '@tessera/kit';
import type { User } from '@tessera/proto-gen/directory';
import { digest } from '../browser-call.ts';

/** Longer identifiers are never stored, so they cannot match. */
export const longestIdentifier = 512;

/**
 * The name under which attempts with an unknown identifier are counted. It is coarser than the form in which the
 * directory compares identifiers, so that another spelling of an identifier gets no further attempts. Of an identifier
 * that is too long to exist only the start counts.
 */
export function accountName(identifier: string): string {
  const compared = normalizeStart(identifier.trim(), 'NFC', longestIdentifier).toLowerCase();
  return normalizeStart(compared, 'NFKC', compared.length)
    .toLowerCase()
    .replaceAll(/[\s().\u00ad\u200b-\u200f\u2060\ufeff-]/g, '');
}

/**
 * When guesses at the password of a person begin to count. A new password and an administrator's unlock end a lock at
 * once in every process, as the counters then have other names.
 */
function passwordSince({ validFrom, unlockedAtMs }: Pick<User, 'validFrom' | 'unlockedAtMs'>): string {
  return `${validFrom} ${unlockedAtMs}`;
}

/** Whom a guess at a password is about. */
export function guessedPassword(user: User) {
  const { userId, lockedDownAt } = user;
  return { userId, since: passwordSince(user), lockedDownAt };
}

/** When guesses at a second factor begin to count within less than a day: a new password does not end its lock. */
export function factorSince(user: Pick<User, 'unlockedAtMs'> | undefined): string {
  return String(user?.unlockedAtMs ?? 0n);
}

/**
 * The factor of codes of an app and of recovery codes. Those of another kind have another factor, and counters of their
 * own.
 */
export const codeFactor = 'totp';

/** The counters of such wrong codes of a person that an unlock ends, from browsers that are not known for them. */
export function countersOfCodes(user: User): { readonly person: string; readonly account: string } {
  const { tenantId, userId } = user;
  const keyed = (key: string) => countedSince(key, factorSince(user), codeFactor);
  return { person: keyed(personKey(tenantId, userId)), account: keyed(accountKey(tenantId, userId)) };
}

/** The counters of wrong passwords of a person, from browsers that are not known for them. */
export function countersOfPassword(user: User): {
  readonly person: string;
  readonly accounts: readonly string[];
} {
  const { tenantId, userId } = user;
  const keyed = (key: string) => countedSince(key, passwordSince(user), undefined);
  const names = [user.username, user.email, user.phoneNumber].filter((name) => name !== '');
  return {
    person: keyed(personKey(tenantId, userId)),
    accounts: names.map((name) => keyed(accountKey(tenantId, name))),
  };
}

/** The name of a counter that begins again when `since` changes; guesses of another factor have one of their own. */
export function countedSince(key: string, since: string | undefined, factor: string | undefined): string {
  return factor === undefined && since === undefined ? key : digest([key, since, factor].join('\n'));
}

function accountKey(tenantId: string, identifier: string): string {
  return digest(`${tenantId}\n${accountName(identifier)}`);
}

/** What guesses about a person are counted under, whatever identifier they name. */
export function personKey(tenantId: string, userId: string): string {
  return digest(`${tenantId}\n${userId}`);
}
