import { describe, expect, it } from 'vitest';
import { systemClock } from '@tessera/kit';
import { createLimiter } from '@tessera/stores';
import { silentLog, testRedis } from '@tessera/test-kit';
import type { BrowserCall } from '../browser-call.ts';
import { codeLimits, createGuessLimits } from './guess-limits.ts';

const from = (n: number) =>
  ({
    browser: { ipAddress: `10.0.${n >> 8}.${n & 255}` },
    call: { signal: new AbortController().signal },
  }) as BrowserCall;
const outOfReach = (name: string) => ({ name, limit: 1_000_000, windowSeconds: 60 });

/** Guesses at a code, each from another address; `right` is the code that is right. */
function guessing(limiter: ReturnType<typeof createLimiter>, userId = 'usr_1') {
  let checks = 0;
  let addresses = 0;
  const limit = createGuessLimits({
    ownCounter: async () => undefined,
    limiter,
    limits: {
      account: outOfReach('account'),
      person: outOfReach('person'),
      knownBrowser: outOfReach('known'),
      address: outOfReach('address'),
      accountTotal: outOfReach('account-total'),
      addressTotal: outOfReach('address-total'),
      codes: codeLimits,
    },
    audit: { signInFailed: () => {}, signInLimited: () => {} },
  });
  return {
    checks: () => checks,
    async guess(code: string, since = '0') {
      const guess = { tenantId: 'acme', clientId: '', identifier: userId, factor: 'totp' };
      return limit(from((addresses += 1)), guess, {
        whose: async () => ({ userId, since }),
        check: async () => {
          checks += 1;
          return code === 'right' ? code : undefined;
        },
      });
    },
  };
}

describe('codes of an app and recovery codes', () => {
  it('are at most 30 wrong ones in two hours and 100 in a day, although a right one comes between (RFC 4226 §7.3)', async () => {
    let now = systemClock.now();
    const clock = { ...systemClock, now: () => now };
    const limiter = createLimiter({ redis: undefined, clock, log: silentLog(), prefix: 'test' });
    const { guess, checks } = guessing(limiter);
    let wrong = 0;
    for (let quarter = 0; quarter < 24 * 4; quarter += 1) {
      for (let i = 0; i < 9; i += 1) {
        const before = checks();
        await guess('wrong').catch(() => {});
        wrong += checks() - before;
      }
      await guess('right').catch(() => {});
      now += 15 * 60_000 - 1;
    }
    expect(wrong).toBe(100);
    const refused = { code: 'rate_limited', retryAfterSeconds: expect.any(Number) as number };
    await expect(guess('right')).rejects.toMatchObject(refused);
    // An administrator's unlock ends it.
    expect(await guess('right', '1')).toBe('right');
    now += 24 * 3600_000;
    expect(await guess('right')).toBe('right');
  });

  it('are judged 30 times when a hundred wrong ones race in two processes, and never refused to who types right ones', async () => {
    const redis = await testRedis();
    const open = () => createLimiter({ redis, clock: systemClock, log: silentLog(), prefix: 'test' });
    const processes = [guessing(open()), guessing(open())];
    for (let round = 0; round < 4; round += 1)
      await Promise.allSettled(
        Array.from({ length: 100 }, (_, i) => (processes[i % 2] ?? guessing(open())).guess('wrong')),
      );
    expect(processes.reduce((sum, { checks }) => sum + checks(), 0)).toBe(30);
    const owner = guessing(open(), 'usr_2');
    for (let i = 0; i < 150; i += 1) expect(await owner.guess('right')).toBe('right');
  });
});
