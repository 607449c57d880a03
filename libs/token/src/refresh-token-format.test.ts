import { createSecretKey } from 'node:crypto';
import { systemRandom } from '@tessera/kit';
import { describe, expect, it } from 'vitest';
import { newFamilyId } from './refresh-token-format.ts';
import { createRefreshTokenCodec, parseRefreshKeys } from './refresh-token-format.ts';

const key = (version: number) => ({ version, key: createSecretKey(systemRandom.bytes(32)) });
const first = key(1);
const codec = createRefreshTokenCodec([first]);
const reference = { familyId: newFamilyId(systemRandom), generation: 3 };

describe('refresh tokens', () => {
  it('contain family and generation and nothing outside the MAC', () => {
    const token = codec.encode(reference);
    expect(token).toMatch(/^tr_[A-Za-z0-9_-]{71}$/);
    expect(codec.decode(token)).toEqual(reference);
    expect(codec.encode(reference)).toBe(token);
    expect(codec.encode({ ...reference, generation: 4 })).not.toBe(token);
  });

  it('are refused if any bit is changed', () => {
    const bytes = Buffer.from(codec.encode(reference).slice(3), 'base64url');
    for (let bit = 0; bit < bytes.length * 8; bit += 1) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8(changed.readUInt8(bit >> 3) ^ (1 << (bit & 7)), bit >> 3);
      expect(codec.decode(`tr_${changed.toString('base64url')}`)).toBeUndefined();
    }
  });

  it('are accepted in one spelling only', () => {
    const token = codec.encode(reference);
    const lastCharacters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
    const sameBytes = [...lastCharacters].map((last) => token.slice(0, -1) + last);
    expect(sameBytes.filter((spelling) => codec.decode(spelling) !== undefined)).toEqual([token]);
    const around = [
      `${token}A`,
      `${token}=`,
      ` ${token}`,
      `${token} `,
      `${token}\n`,
      token.toUpperCase(),
      '',
      'tr_',
    ];
    const prefixed = [token.replace('tr_', 'tc_'), token.replace('tr_', ''), encodeURIComponent(`${token}/`)];
    const shorter = Array.from({ length: token.length }, (_, length) => token.slice(0, length));
    const broken = shorter.map((start) => `${start}\u0000${token.slice(start.length + 1)}`);
    const misspelt = [...around, ...prefixed, ...shorter, ...broken];
    for (const spelling of misspelt) expect(codec.decode(spelling)).toBeUndefined();
  });

  it('are signed by the first key and verified by all, so that keys can be rotated without interruption', () => {
    const second = key(2);
    const old = codec.encode(reference);
    const changing = createRefreshTokenCodec([second, first]);
    expect(changing.decode(old)).toEqual(reference);
    expect(codec.decode(changing.encode(reference))).toBeUndefined();
    expect(createRefreshTokenCodec([second]).decode(old)).toBeUndefined();
    expect(createRefreshTokenCodec([key(1)]).decode(old)).toBeUndefined();
  });

  it('are refused with a generation that no family can have', () => {
    for (const generation of [0, 0x7fffffff, 0xffffffff]) {
      expect(codec.decode(codec.encode({ ...reference, generation }))).toBeUndefined();
    }
  });
});

describe('the setting of the refresh token keys', () => {
  const bytes = systemRandom.bytes(32).toString('base64');

  it('lists keys by version, the signing one first', () => {
    const keys = parseRefreshKeys(`2:${bytes}, 1:${systemRandom.bytes(32).toString('base64')}`);
    expect(keys?.map(({ version }) => version)).toEqual([2, 1]);
  });

  it('is refused when a key is too short, a version is missing, twice or out of range', () => {
    const short = systemRandom.bytes(31).toString('base64');
    for (const text of [
      '',
      bytes,
      `1:${short}`,
      `0:${bytes}`,
      `256:${bytes}`,
      `1:${bytes},1:${bytes}`,
      `1:${bytes},`,
    ]) {
      expect(parseRefreshKeys(text)).toBeUndefined();
    }
  });
});
