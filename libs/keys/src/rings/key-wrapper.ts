import { createCipheriv, createDecipheriv, createSecretKey, hash } from 'node:crypto';
import type { Random, Secret } from '@tessera/kit';

/**
 * Encrypts private keys for storage; a key management service can implement it. A key wrapped for one `kid` cannot be
 * unwrapped for another.
 */
export interface KeyWrapper {
  wrap(kid: string, privateKey: Buffer): Promise<string>;
  /** Rejects if the text was changed, belongs to another kid, or was wrapped under another key-encryption key. */
  unwrap(kid: string, wrapped: string): Promise<Buffer>;
}

const ivLength = 12;
const tagLength = 16;

/** The 32 bytes of a key-encryption key in base64 or base64url; undefined for any other text. */
export function keyEncryptionKeyBytes(value: Secret): Buffer | undefined {
  const text = value.reveal();
  if (!/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return undefined;
  return Buffer.from(text, 'base64');
}

/**
 * AES-256-GCM under one key-encryption key (NIST SP 800-38D), with the kid as additional data. The text is `v1.<id of
 * the key-encryption key>.<iv, ciphertext and tag in base64url>`, so that keys can later be wrapped under another
 * key-encryption key.
 */
export function aesKeyWrapper(keyEncryptionKey: Secret, random: Random): KeyWrapper {
  const bytes = keyEncryptionKeyBytes(keyEncryptionKey);
  if (bytes === undefined) throw new Error('The key-encryption key is not 32 bytes in base64.');
  const key = createSecretKey(bytes);
  const prefix = `v1.${keyId(bytes)}.`;
  return {
    async wrap(kid, privateKey) {
      const iv = random.bytes(ivLength);
      const cipher = createCipheriv('aes-256-gcm', key, iv, { authTagLength: tagLength });
      cipher.setAAD(Buffer.from(kid));
      const sealed = [iv, cipher.update(privateKey), cipher.final(), cipher.getAuthTag()];
      return prefix + Buffer.concat(sealed).toString('base64url');
    },
    async unwrap(kid, wrapped) {
      if (!wrapped.startsWith(prefix)) {
        throw new Error(
          'The signing key was wrapped under another key-encryption key than TESSERA_KEYS_KEK.',
        );
      }
      const sealed = Buffer.from(wrapped.slice(prefix.length), 'base64url');
      const end = sealed.length - tagLength;
      if (end <= ivLength) throw new Error('The wrapped signing key is truncated.');
      const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, ivLength), {
        authTagLength: tagLength,
      });
      decipher.setAAD(Buffer.from(kid));
      decipher.setAuthTag(sealed.subarray(end));
      return Buffer.concat([decipher.update(sealed.subarray(ivLength, end)), decipher.final()]);
    },
  };
}

/** The wrapper for the keys of one tenant, so that a key moved to another tenant cannot be unwrapped. */
export function tenantKeyWrapper(wrapper: KeyWrapper, tenantId: string): KeyWrapper {
  return {
    wrap: (kid, privateKey) => wrapper.wrap(`${tenantId} ${kid}`, privateKey),
    unwrap: (kid, wrapped) => wrapper.unwrap(`${tenantId} ${kid}`, wrapped),
  };
}

/** Identifies a key-encryption key without revealing it: 48 bits of a hash of a 256-bit random value. */
function keyId(bytes: Buffer): string {
  return hash('sha256', Buffer.concat([Buffer.from('tessera key-encryption key'), bytes]), 'buffer')
    .subarray(0, 6)
    .toString('base64url');
}
