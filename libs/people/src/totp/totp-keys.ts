import type { KeyObject } from 'node:crypto';
import { createTotpSealing, type PersonId, type TotpSealing } from '@tessera/directory/ground';
import { ownMac } from '../change/own-mac.ts';
import { totpSecretLength } from './totp.ts';

/** What protects the secrets of authenticator apps at rest. */
export interface TotpKeys extends TotpSealing {
  /**
   * The secret that a person may enrol from a page; the same for the same seed, so that none is stored before it is
   * enrolled.
   */
  proposed(person: PersonId, seed: string): Buffer;
}

export function createTotpKeys(pepper: KeyObject): TotpKeys {
  const proposal = ownMac(pepper, 'second-factors.proposals');
  return {
    ...createTotpSealing(pepper),
    proposed: (person, seed) => proposal(person, seed).subarray(0, totpSecretLength),
  };
}
