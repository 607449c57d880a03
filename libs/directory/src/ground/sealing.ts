import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { temporarilyUnavailable } from '@tessera/oauth';

/** Encrypts secrets that must be readable, so that none is stored as it is (RFC 7516, A256GCM). */
export interface Sealing {
  /** @param subject whose secret it is; a reader must name the same */
  seal(subject: string, secret: Buffer): Promise<string>;
  /** Throws `temporarily_unavailable` for what was sealed for another subject or under another pepper. */
  open(subject: string, sealed: string): Promise<Buffer>;
}

/** A key for one use, from the pepper of the directory (RFC 5869). */
export function derivedKey(pepper: KeyObject, use: string): KeyObject {
  return createSecretKey(Buffer.from(hkdfSync('sha256', pepper, '', `tessera.${use}.v1`, 32)));
}

/** @param use of the key, such as `second-factors.sealing` */
export function createSealing(pepper: KeyObject, use: string): Sealing {
  const key = derivedKey(pepper, use);
  return {
    async seal(subject, secret) {
      const { CompactEncrypt } = await import('jose');
      return new CompactEncrypt(secret)
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', sub: subject })
        .encrypt(key);
    },

    async open(subject, sealed) {
      try {
        const { compactDecrypt } = await import('jose');
        const { plaintext, protectedHeader } = await compactDecrypt(sealed, key);
        if (protectedHeader['sub'] !== subject) throw new Error('It was sealed for another subject.');
        return Buffer.from(plaintext);
      } catch (error) {
        const cause = new Error('A secret cannot be read with this TESSERA_DIRECTORY_PEPPER.', {
          cause: error,
        });
        throw temporarilyUnavailable(cause);
      }
    },
  };
}
