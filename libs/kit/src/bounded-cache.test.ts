import { describe, expect, it } from 'vitest';
import { boundedCache } from './bounded-cache.ts';

const held = (): number => {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

describe('a bounded cache', () => {
  it('forgets what was used least recently when it is full', () => {
    const cache = boundedCache<{ readonly value: number }>(1000);
    for (let value = 0; value < 1000; value += 1) cache.set(`key ${value}`, { value });
    expect(cache.get('key 0')).toEqual({ value: 0 });
    cache.set('key 1000', { value: 1000 });
    expect(cache.size).toBe(1000);
    expect(cache.get('key 0')).toEqual({ value: 0 });
    expect(cache.has('key 1')).toBe(false);
    for (let value = 2000; value < 5000; value += 1) cache.set(`key ${value % 1500}`, { value });
    expect(cache.size).toBe(1000);
    expect(Array.from(cache.keys())).toEqual(
      Array.from({ length: 1000 }, (_, age) => `key ${(4999 - age) % 1500}`),
    );
  });

  it('takes no memory for entries it does not have', () => {
    const before = held();
    const caches = Array.from({ length: 20 }, () => boundedCache(100_000));
    expect(held() - before).toBeLessThan(8e6);
    expect(caches).toHaveLength(20);
  });
});
