import { describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { createEncryption } from './encryption.ts';

const key = Buffer.alloc(32, 1);
const encryption = createEncryption(key, systemRandom);
const content = { authReqId: 'ta_å', notificationToken: 'x'.repeat(1024) };

describe('the encryption of deliveries', () => {
  it('decrypts what it encrypted, for the same purpose only', () => {
    const encrypted = encryption.encrypt('request r1', content);
    expect(encryption.decrypt('request r1', encrypted)).toEqual(content);
    expect(encryption.decrypt('request r2', encrypted)).toBeUndefined();
    expect(encryption.decrypt('tokens r1', encrypted)).toBeUndefined();
    expect(createEncryption(key, systemRandom).decrypt('request r1', encrypted)).toEqual(content);
  });

  it('hides the plaintext and never repeats a ciphertext', () => {
    const encrypted = [1, 2].map(() => encryption.encrypt('request r1', content));
    expect(encrypted[0]).not.toBe(encrypted[1]);
    expect(Buffer.from(encrypted[0] ?? '', 'base64url').toString('latin1')).not.toContain('xxxx');
  });

  it('rejects changed, truncated and foreign ciphertexts', () => {
    const encrypted = encryption.encrypt('request r1', content);
    const bytes = Buffer.from(encrypted, 'base64url');
    for (const at of [0, 12, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(encryption.decrypt('request r1', changed.toString('base64url')), String(at)).toBeUndefined();
    }
    for (const length of [0, 11, 27, bytes.length - 1]) {
      expect(
        encryption.decrypt('request r1', bytes.subarray(0, length).toString('base64url')),
      ).toBeUndefined();
    }
    expect(
      createEncryption(Buffer.alloc(32, 2), systemRandom).decrypt('request r1', encrypted),
    ).toBeUndefined();
  });
});
