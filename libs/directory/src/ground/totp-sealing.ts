import type { KeyObject } from 'node:crypto';
import type { PersonId } from './person-id.ts';
import { createSealing } from './sealing.ts';

/** Encrypts the secrets of authenticator apps at rest. */
export interface TotpSealing {
  /** A secret, encrypted for this person. */
  seal(person: PersonId, secret: Buffer): Promise<string>;
  /** Throws `temporarily_unavailable` for what was sealed for another person or under another pepper. */
  open(person: PersonId, sealed: string): Promise<Buffer>;
}

/** @param pepper of the directory */
export function createTotpSealing(pepper: KeyObject): TotpSealing {
  const sealing = createSealing(pepper, 'second-factors.sealing');
  return {
    seal: (person, secret) => sealing.seal(subjectOf(person), secret),
    open: (person, sealed) => sealing.open(subjectOf(person), sealed),
  };
}

function subjectOf({ tenantId, userId }: PersonId): string {
  return `${tenantId} ${userId}`;
}
