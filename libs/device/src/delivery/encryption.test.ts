import { describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { createSeal } from './encryption.ts';

const key = Buffer.alloc(32, 1);
const seal = createSeal(key, systemRandom);
const content = { authReqId: 'ta_å', notificationToken: 'x'.repeat(1024) };

describe('the seal', () => {
  it('opens what it closed, for the same purpose alone', () => {
    const sealed = seal.close('request r1', content);
    expect(seal.open('request r1', sealed)).toEqual(content);
    expect(seal.open('request r2', sealed)).toBeUndefined();
    expect(seal.open('tokens r1', sealed)).toBeUndefined();
    expect(createSeal(key, systemRandom).open('request r1', sealed)).toEqual(content);
  });

  it('shows nothing of what is inside, and never the same text twice', () => {
    const sealed = [1, 2].map(() => seal.close('request r1', content));
    expect(sealed[0]).not.toBe(sealed[1]);
    expect(Buffer.from(sealed[0] ?? '', 'base64url').toString('latin1')).not.toContain('xxxx');
  });

  it('opens nothing that was changed, cut or sealed under another key', () => {
    const sealed = seal.close('request r1', content);
    const bytes = Buffer.from(sealed, 'base64url');
    for (const at of [0, 12, bytes.length - 1]) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(at) ^ 1, at);
      expect(seal.open('request r1', changed.toString('base64url')), String(at)).toBeUndefined();
    }
    for (const length of [0, 11, 27, bytes.length - 1]) {
      expect(seal.open('request r1', bytes.subarray(0, length).toString('base64url'))).toBeUndefined();
    }
    expect(createSeal(Buffer.alloc(32, 2), systemRandom).open('request r1', sealed)).toBeUndefined();
  });
});
