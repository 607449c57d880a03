import { createHmac, type KeyObject } from 'node:crypto';
import type { PersonId } from '../ground/person-id.ts';
import { createSealing, derivedKey } from '../ground/sealing.ts';
import { recoveryCodesOf } from './recovery-codes.ts';
import { totpSecretLength } from './totp.ts';

/** What protects second factors at rest. */
export interface FactorKeys {
  /** The secret that a person may enrol from a page; the same for the same seed, so that none is stored before it is enrolled. */
  proposed(person: PersonId, seed: string): Buffer;
  /** The recovery codes that a person may keep from a page; as for the secret. */
  proposedCodes(person: PersonId, seed: string): string[];
  /** A secret, encrypted for this person. */
  seal(person: PersonId, secret: Buffer): Promise<string>;
  /** Throws `temporarily_unavailable` for what was sealed for another person or under another pepper. */
  open(person: PersonId, sealed: string): Promise<Buffer>;
  /** The digest of a recovery code, which has too few bits for one without a key. */
  digest(person: PersonId, code: string): Buffer;
  /** How authenticators know a person, base64url: says nothing to whoever has no key (WebAuthn L3 §14.6.1). */
  userHandle(person: PersonId): string;
}

export function createFactorKeys(pepper: KeyObject): FactorKeys {
  const sealing = createSealing(pepper, 'second-factors.sealing');
  const proposals = derivedKey(pepper, 'second-factors.proposals');
  const proposedCodes = derivedKey(pepper, 'second-factors.proposed-codes');
  const codes = derivedKey(pepper, 'second-factors.recovery-codes');
  const handles = derivedKey(pepper, 'second-factors.user-handles');
  const mac = (key: KeyObject, { tenantId, userId }: PersonId, value: string) =>
    createHmac('sha256', key).update(`${tenantId}\0${userId}\0${value}`).digest();

  return {
    proposed: (person, seed) => mac(proposals, person, seed).subarray(0, totpSecretLength),
    proposedCodes: (person, seed) =>
      recoveryCodesOf((index) => mac(proposedCodes, person, `${seed}\0${index}`)),
    seal: (person, secret) => sealing.seal(subjectOf(person), secret),
    open: (person, sealed) => sealing.open(subjectOf(person), sealed),
    digest: (person, code) => mac(codes, person, code),

    userHandle: (person) => mac(handles, person, '').toString('base64url'),
  };
}

function subjectOf({ tenantId, userId }: PersonId): string {
  return `${tenantId} ${userId}`;
}
