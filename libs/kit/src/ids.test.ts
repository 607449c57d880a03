import { describe, expect, it } from 'vitest';
import { systemRandom, ulid } from './ids.ts';

describe('systemRandom', () => {
  it('never hands out the same bytes twice, whatever lengths are asked for', () => {
    const seen = new Set<string>();
    const lengths = [16, 32, 1000, 4096, 12, 5000];
    for (let index = 0; index < 3000; index += 1) {
      const bytes = systemRandom.bytes(lengths[index % lengths.length] ?? 16);
      for (let at = 0; at + 12 <= bytes.length; at += 12) seen.add(bytes.toString('hex', at, at + 12));
    }
    const all = 500 * lengths.reduce((sum, length) => sum + Math.floor(length / 12), 0);
    expect(seen.size).toBe(all);
  });

  it('hands out bytes that stay what they are', () => {
    const first = systemRandom.bytes(32);
    const before = first.toString('hex');
    for (let index = 0; index < 1000; index += 1) systemRandom.bytes(32).fill(7);
    expect(first.toString('hex')).toBe(before);
  });
});

describe('ulid', () => {
  it('begins with its time, so that ids sort by it, and differs within one millisecond', () => {
    const at = (now: number) => ulid({ now: () => now }, systemRandom);
    expect(at(0)).toMatch(/^0{10}[0-9A-HJKMNP-TV-Z]{16}$/);
    expect(at(1_469_918_176_385).slice(0, 10)).toBe('01ARYZ6S41');
    const ids = Array.from({ length: 1000 }, () => at(5));
    expect(new Set(ids).size).toBe(1000);
    expect(at(4) < at(5) && at(5) < at(6)).toBe(true);
  });
});
