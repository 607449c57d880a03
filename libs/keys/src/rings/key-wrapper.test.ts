import { Secret, systemRandom } from '@tessera/kit';
import { describe, expect, it } from 'vitest';
import { aesKeyWrapper, keyEncryptionKeyBytes } from './key-wrapper.ts';

const newKey = () => new Secret(systemRandom.bytes(32).toString('base64'));
const privateKey = Buffer.from('a private key');

const expectedError = /unable to authenticate|TESSERA_KEYS_KEK|truncated/;

describe('the wrapper of private keys', () => {
  it('unwraps what it wrapped, and never wraps it the same way twice', async () => {
    const wrapper = aesKeyWrapper(newKey(), systemRandom);
    const first = await wrapper.wrap('kid', privateKey);
    const second = await wrapper.wrap('kid', privateKey);
    expect(first).not.toBe(second);
    expect(first).toMatch(/^v1\.[\w-]{8}\.[\w-]+$/);
    expect(await wrapper.unwrap('kid', first)).toEqual(privateKey);
    expect(await wrapper.unwrap('kid', second)).toEqual(privateKey);
  });

  it('refuses a key that was wrapped for another kid', async () => {
    const wrapper = aesKeyWrapper(newKey(), systemRandom);
    const wrapped = await wrapper.wrap('kid', privateKey);
    await expect(wrapper.unwrap('other', wrapped)).rejects.toThrow('unable to authenticate');
  });

  it('refuses a text of which any part was changed', async () => {
    const wrapper = aesKeyWrapper(newKey(), systemRandom);
    const wrapped = await wrapper.wrap('kid', privateKey);
    for (let i = 0; i < wrapped.length - 1; i += 1) {
      const changed = wrapped.slice(0, i) + (wrapped[i] === 'A' ? 'B' : 'A') + wrapped.slice(i + 1);
      await expect(wrapper.unwrap('kid', changed)).rejects.toThrow(expectedError);
    }
    for (const text of ['', wrapped.slice(0, 20), wrapped.slice(0, -4)]) {
      await expect(wrapper.unwrap('kid', text)).rejects.toThrow(expectedError);
    }
  });

  it('names the cause if the key was wrapped under another key-encryption key', async () => {
    const wrapped = await aesKeyWrapper(newKey(), systemRandom).wrap('kid', privateKey);
    await expect(aesKeyWrapper(newKey(), systemRandom).unwrap('kid', wrapped)).rejects.toThrow(
      'TESSERA_KEYS_KEK',
    );
  });

  it('reads a key-encryption key in base64 and base64url, and nothing of another length', () => {
    const bytes = Buffer.alloc(32, 0xfb);
    for (const text of [bytes.toString('base64'), bytes.toString('base64url')]) {
      expect(keyEncryptionKeyBytes(new Secret(text))).toEqual(bytes);
    }
    for (const text of [
      '',
      'short',
      systemRandom.bytes(31).toString('base64'),
      systemRandom.bytes(33).toString('base64'),
    ]) {
      expect(keyEncryptionKeyBytes(new Secret(text))).toBeUndefined();
    }
  });
});
