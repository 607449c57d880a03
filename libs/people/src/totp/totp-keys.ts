import type { KeyObject } from 'node:crypto';
import { type PersonId, createSealing } from '@tessera/directory/ground';
import { ownMac } from '../change/own-mac.ts';
import { totpSecretLength } from './totp.ts';

/** What protects the secrets of authenticator apps at rest. */
export interface TotpKeys {
  /**
   * The secret that a person may enrol from a page; the same for the same seed, so that none is stored before it is
   * enrolled.
   */
  proposed(person: PersonId, seed: string): Buffer;
  /** A secret, encrypted for this person. */
  seal(person: PersonId, secret: Buffer): Promise<string>;
  /** Throws `temporarily_unavailable` for what was sealed for another person or under another pepper. */
  open(person: PersonId, sealed: string): Promise<Buffer>;
}

export function createTotpKeys(pepper: KeyObject): TotpKeys {
  const sealing = createSealing(pepper, 'second-factors.sealing');
  const proposal = ownMac(pepper, 'second-factors.proposals');
  return {
    proposed: (person, seed) => proposal(person, seed).subarray(0, totpSecretLength),
    seal: (person, secret) => sealing.seal(subjectOf(person), secret),
    open: (person, sealed) => sealing.open(subjectOf(person), sealed),
  };
}

function subjectOf({ tenantId, userId }: PersonId): string {
  return `${tenantId} ${userId}`;
}
