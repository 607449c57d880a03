import { withheldPassword } from '@tessera/directory';
import type { Entry } from '../files/imported.ts';

/** How many people need what. */
export interface PeopleCounts {
  readonly total: number;
  readonly disabled: number;
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
      for (const { status, password, passwordHash } of users) {
        const isDisabled = status === 'disabled' || status === 'locked';
        const hasHash = passwordHash !== undefined && passwordHash !== withheldPassword;
        const hasPassword = password !== undefined || hasHash;
        total += 1;
        if (isDisabled) disabled += 1;
        if (!hasPassword) withoutPassword += 1;
        if (hasPassword && !isDisabled) ready += 1;
      }
    },
    counts: () => ({ total, disabled, withoutPassword, ready }),
  };
}
