import { createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { CompactEncrypt, compactDecrypt } from 'jose';
import { temporarilyUnavailable } from '@tessera/oauth';
import { totpSecretLength } from './totp.ts';

/** A person of a tenant. */
export interface PersonId {
  readonly tenantId: string;
  readonly userId: string;
}

/** What protects second factors at rest. All keys come from the pepper of the directory (RFC 5869). */
export interface FactorKeys {
  /** The secret that a person may enrol from a page; the same for the same seed, so that none is stored before it is enrolled. */
  proposed(person: PersonId, seed: string): Buffer;
  /** A secret, encrypted for this person (RFC 7516, A256GCM). */
  seal(person: PersonId, secret: Buffer): Promise<string>;
  /** Throws `temporarily_unavailable` for what was sealed for another person or under another pepper. */
  open(person: PersonId, sealed: string): Promise<Buffer>;
  /** The digest of a recovery code, which has too few bits for one without a key. */
  digest(person: PersonId, code: string): Buffer;
}

export function createFactorKeys(pepper: KeyObject): FactorKeys {
  const derived = (use: string) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', pepper, '', `tessera.second-factors.${use}.v1`, 32)));
  const sealing = derived('sealing');
  const proposals = derived('proposals');
  const codes = derived('recovery-codes');
  const mac = (key: KeyObject, { tenantId, userId }: PersonId, value: string) =>
    createHmac('sha256', key).update(`${tenantId}\0${userId}\0${value}`).digest();

  return {
    proposed: (person, seed) => mac(proposals, person, seed).subarray(0, totpSecretLength),

    seal: async (person, secret) =>
      new CompactEncrypt(secret)
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', sub: subjectOf(person) })
        .encrypt(sealing),

    async open(person, sealed) {
      try {
        const { plaintext, protectedHeader } = await compactDecrypt(sealed, sealing);
        if (protectedHeader['sub'] !== subjectOf(person))
          throw new Error('It was sealed for another person.');
        return Buffer.from(plaintext);
      } catch (error) {
        const cause = new Error('A second factor cannot be read with this TESSERA_DIRECTORY_PEPPER.', {
          cause: error,
        });
        throw temporarilyUnavailable(cause);
      }
    },

    digest: (person, code) => mac(codes, person, code),
  };
}

function subjectOf({ tenantId, userId }: PersonId): string {
  return `${tenantId} ${userId}`;
}
