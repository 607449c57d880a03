import { describe, expect, it } from 'vitest';
import { systemRandom } from '@tessera/kit';
import { newUserCode, userCodeHash } from './user-code.ts';

describe('a user code', () => {
  it('has eight unambiguous letters in two groups (RFC 8628 §6.1)', () => {
    const codes = Array.from({ length: 2000 }, () => newUserCode(systemRandom));
    for (const code of codes) expect(code).toMatch(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
    expect(new Set(codes).size).toBe(codes.length);
    expect(new Set(codes.join('')).size).toBe(21);
  });

  it('favours no letter: bytes beyond the last full range are discarded', () => {
    const bytes = [255, 240, 239, 0, 20, 220, 254, 19, 1, 2, 3, 4, 5, 6, 7, 8];
    const random = { bytes: (length: number) => Buffer.from(bytes.splice(0, length)) };
    expect(newUserCode(random)).toBe('ZBBB-ZCDF');
    const counts = new Map<string, number>();
    for (let i = 0; i < 5000; i += 1) {
      for (const letter of newUserCode(systemRandom).replace('-', '')) {
        counts.set(letter, (counts.get(letter) ?? 0) + 1);
      }
    }
    for (const count of counts.values()) {
      expect(count).toBeGreaterThan(1700);
      expect(count).toBeLessThan(2300);
    }
  });

  it.each(['BCDF-GHJK', 'bcdfghjk', ' bcdf ghjk ', 'Bcdf–Ghjk', 'b-c-d-f-g-h-j-k', 'ＢＣＤＦ－ＧＨＪＫ'])(
    'is the same code when typed as %s',
    (typed) => {
      expect(userCodeHash(typed)).toBe(userCodeHash('BCDF-GHJK'));
    },
  );

  it.each(['BCDF-GHJL', 'BCDF-GHJ', 'BCDF-GHJKL', '', '-', `BCDF-GHJK${'x'.repeat(100_000)}`])(
    'is a different code when typed as %.20s',
    (typed) => {
      expect(userCodeHash(typed)).not.toBe(userCodeHash('BCDF-GHJK'));
    },
  );
});
