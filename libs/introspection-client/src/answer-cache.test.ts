import { afterEach, describe, expect, it } from 'vitest';
import { boundedCache } from './answer-cache.ts';
import { Ended } from './revocations/ended.ts';
import { createIntrospector } from './introspector.ts';
import type { Introspector } from './introspector-types.ts';

const introspectors: Introspector[] = [];
afterEach(async () => {
  for (const introspector of introspectors.splice(0)) await introspector.close();
});

const held = (): number => {
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
};

describe('the cache of an introspector', () => {
  it('allocates no memory for absent entries', () => {
    const target = '127.0.0.1:1';
    const cache = { max: 1_000_000 };
    introspectors.push(createIntrospector({ target, credentials: {}, cache, watch: false }));
    const before = held();
    for (let n = 0; n < 5; n += 1)
      introspectors.push(createIntrospector({ target, credentials: {}, cache, watch: false }));
    const ended = Array.from({ length: 10 }, () => new Ended(['subject']));
    expect(held() - before).toBeLessThan(8e6);
    expect(ended).toHaveLength(10);
  });

  it('is bounded and evicts the least recently used entry first', () => {
    const cache = boundedCache<{ readonly value: number }>(100);
    for (let value = 0; value < 100; value += 1) cache.set(`key ${value}`, { value });
    expect(cache.get('key 0')).toEqual({ value: 0 });
    cache.set('key 100', { value: 100 });
    expect(cache.size).toBe(100);
    expect(cache.has('key 0')).toBe(true);
    expect(cache.has('key 1')).toBe(false);
  });

  it('drops an entry at its expiry, its own or that of the cache', async () => {
    const cache = boundedCache<{ readonly value: number }>(100, 60);
    cache.set('short', { value: 1 }, { ttl: 20 });
    cache.set('usual', { value: 2 });
    cache.set('long', { value: 3 }, { ttl: 60_000 });
    await expect.poll(() => cache.get('short')).toBeUndefined();
    await expect.poll(() => cache.get('usual')).toBeUndefined();
    expect(cache.get('long')).toEqual({ value: 3 });
  });
});
