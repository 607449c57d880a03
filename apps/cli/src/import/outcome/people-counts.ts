import { withheldPassword } from '@tessera/directory';
import type { Entry } from '../files/imported.ts';

/** How many people need what. */
export interface PeopleCounts {
  readonly total: number;
  readonly disabled: number;
  /** Who have neither a password, nor a passkey or something at a provider. */
  readonly withoutPassword: number;
  /** Who can sign in as before. */
  readonly ready: number;
}

/** Counts people as they come. */
export interface CountingPeople {
  add(users: Iterable<Entry>): void;
  counts(): PeopleCounts;
}

export function countingPeople(): CountingPeople {
  let [total, disabled, withoutPassword, ready] = [0, 0, 0, 0];
  return {
    add(users) {
      for (const { status, password, passwordHash, passkeys, identities } of users) {
        const isDisabled = status === 'disabled' || status === 'locked';
        const hasHash = passwordHash !== undefined && passwordHash !== withheldPassword;
        const hasOther = [passkeys, identities].some((ways) => Array.isArray(ways) && ways.length > 0);
        const hasWayIn = password !== undefined || hasHash || hasOther;
        total += 1;
        if (isDisabled) disabled += 1;
        if (!hasWayIn) withoutPassword += 1;
        if (hasWayIn && !isDisabled) ready += 1;
      }
    },
    counts: () => ({ total, disabled, withoutPassword, ready }),
  };
}
