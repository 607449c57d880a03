import { createCipheriv, createDecipheriv, createSecretKey } from 'node:crypto';
import type { Random } from '@tessera/kit';

const ivLength = 12;
const tagLength = 16;

/** Encrypts callbacks to clients, so that no store holds an auth_req_id, a notification token or a token in clear. */
export interface Encryption {
  /** Encrypts a JSON value for one purpose, such as a request; it cannot be decrypted for another. */
  encrypt(purpose: string, content: object): string;
  /** Undefined if the ciphertext was changed, or encrypted for another purpose or with another key. */
  decrypt(purpose: string, encrypted: string): unknown;
}

/**
 * AES-256-GCM (NIST SP 800-38D) with the purpose as additional data. The ciphertext is base64url of iv, ciphertext and
 * tag.
 */
export function createEncryption(keyBytes: Buffer, random: Random): Encryption {
  const key = createSecretKey(keyBytes);
  return {
    encrypt(purpose, content) {
      const iv = random.bytes(ivLength);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagLength });
      cipher.setAAD(Buffer.from(purpose));
      const text = cipher.update(JSON.stringify(content), 'utf8');
      return Buffer.concat([iv, text, cipher.final(), cipher.getAuthTag()]).toString('base64url');
    },
    decrypt(purpose, encrypted) {
      const bytes = Buffer.from(encrypted, 'base64url');
      const end = bytes.length - tagLength;
      if (end < ivLength) return undefined;
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, ivLength), {
        authTagLength: tagLength,
      });
      decipher.setAAD(Buffer.from(purpose));
      decipher.setAuthTag(bytes.subarray(end));
      try {
        const text = Buffer.concat([decipher.update(bytes.subarray(ivLength, end)), decipher.final()]);
        const content: unknown = JSON.parse(text.toString('utf8'));
        return content;
      } catch {
        return undefined;
      }
    },
  };
}
