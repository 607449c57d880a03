import { describe, expect, it } from 'vitest';
import { fakeClock, testRuntime } from '@tessera/test-kit';
import { publicJwk, type PublicJwk } from '@tessera/oauth';
import { createKeySet } from './key-set.ts';

function keySetOf(answer: () => Promise<PublicJwk[]>) {
  const clock = fakeClock();
  let calls = 0;
  const fetch = async () => {
    calls += 1;
    return answer();
  };
  const keySet = createKeySet({ fetch, clock, log: testRuntime().log });
  return { clock, keySet, calls: () => calls };
}

const key = publicJwk('RS256', 'k1', { n: 'bg', e: 'AQAB' });

describe('the key set', () => {
  it('writes each key with the members a verifier needs and no other (RFC 7517 §4, RFC 7518 §6.3.1)', async () => {
    const { keySet } = keySetOf(async () => [key]);
    expect(JSON.parse(await keySet.document())).toEqual({
      keys: [{ kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'k1', n: 'bg', e: 'AQAB' }],
    });
  });

  it('fetches once for concurrent requests, and again after a second', async () => {
    const { keySet, clock, calls } = keySetOf(async () => [key]);
    await Promise.all(Array.from({ length: 20 }, () => keySet.document()));
    await keySet.document();
    expect(calls()).toBe(1);
    clock.advance(1_000);
    await keySet.document();
    expect(calls()).toBe(2);
  });

  it('serves the cached copy while the keys service is unavailable, without a call per request, and recovers', async () => {
    let unavailable = false;
    let kid = 'k1';
    const { keySet, clock, calls } = keySetOf(async () => {
      if (unavailable) throw new Error('unavailable');
      return [{ ...key, kid }];
    });
    await keySet.document();
    unavailable = true;
    clock.advance(60_000);
    for (let time = 0; time < 5; time += 1) expect(await keySet.document()).toContain('"k1"');
    expect(calls()).toBe(2);
    unavailable = false;
    kid = 'k2';
    clock.advance(1_000);
    expect(await keySet.document()).toContain('"k2"');
  });

  it('serves the cached copy for a day while the keys service is unavailable, then fails until it is back (F16)', async () => {
    let unavailable = false;
    const { keySet, clock } = keySetOf(async () => {
      if (unavailable) throw new Error('unavailable');
      return [key];
    });
    expect(keySet.ageSeconds()).toBeUndefined();
    await keySet.document();
    unavailable = true;
    clock.advance(23 * 3_600_000);
    expect(await keySet.document()).toContain('"k1"');
    clock.advance(2 * 3_600_000);
    for (let time = 0; time < 2; time += 1)
      await expect(keySet.document()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    expect(keySet.ageSeconds()).toBe(25 * 3_600);
    unavailable = false;
    expect(await keySet.document()).toContain('"k1"');
    expect(keySet.ageSeconds()).toBe(0);
  });

  it('is temporarily unavailable if no copy was ever cached', async () => {
    const { keySet } = keySetOf(async () => []);
    await expect(keySet.document()).rejects.toMatchObject({ code: 'temporarily_unavailable' });
  });
});
