import type { KeyObject } from 'node:crypto';
import type { PersonId } from '@tessera/directory/ground';
import { ownMac } from '../change/own-mac.ts';
import { recoveryCodesOf } from './recovery-codes.ts';

/** What protects recovery codes at rest. */
export interface RecoveryKeys {
  /**
   * The recovery codes that a person may keep from a page; the same for the same seed, so that none is stored before
   * they are kept.
   */
  proposed(person: PersonId, seed: string): string[];
  /** The digest of a recovery code, which has too few bits for one without a key. */
  digest(person: PersonId, code: string): Buffer;
}

export function createRecoveryKeys(pepper: KeyObject): RecoveryKeys {
  const proposal = ownMac(pepper, 'second-factors.proposed-codes');
  return {
    proposed: (person, seed) => recoveryCodesOf((index) => proposal(person, `${seed}\0${index}`)),
    digest: ownMac(pepper, 'second-factors.recovery-codes'),
  };
}
