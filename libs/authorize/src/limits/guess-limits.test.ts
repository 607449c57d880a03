import { describe, expect, it } from 'vitest';
import { systemClock } from '@tessera/kit';
import { temporarilyUnavailable } from '@tessera/oauth';
import { createLimiter } from '@tessera/stores';
import { silentLog, testRedis } from '@tessera/test-kit';
import type { BrowserCall } from '../browser-call.ts';
import { codeLimits, createGuessLimits } from './guess-limits.ts';
import { createTellOfWrongCodes } from './tell-of-wrong-codes.ts';

const from = (n: number) =>
  ({
    browser: { ipAddress: `10.0.${n >> 8}.${n & 255}` },
    call: { signal: new AbortController().signal, onward: () => ({}) },
  }) as BrowserCall;
const outOfReach = (name: string) => ({ name, limit: 1_000_000, windowSeconds: 60 });

/** Guesses at a code, each from another address; `right` is the code that is right. */
function guessing(
  limiter: ReturnType<typeof createLimiter>,
  userId = 'usr_1',
  announce: () => Promise<object> = async () => ({}),
) {
  let checks = 0;
  let addresses = 0;
  const told: string[] = [];
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
    tellOfWrongCodes: createTellOfWrongCodes({
      limiter,
      personService: {
        announceWrongCodes: async ({ userId: whom = '' }) => {
          told.push(whom);
          return (await announce()) as never;
        },
      },
      log: silentLog(),
    }),
    audit: { signInFailed: () => {}, signInLimited: () => {} },
  });
  return {
    checks: () => checks,
    told,
    async guess(code: string, since = '0') {
      const guess = { tenantId: 'acme', clientId: '', identifier: userId, factor: 'totp' };
      return limit(from((addresses += 1)), guess, {
        whose: async () => ({ userId, since, lockedDownAt: 0n }),
        check: async () => {
          checks += 1;
          return code === 'right' ? code : undefined;
        },
      });
    },
  };
}

describe('codes of an app and recovery codes', () => {
  it('are at most 100 wrong ones in a day, although a right one comes between (RFC 4226 §7.3)', async () => {
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
    // Nor does an administrator's unlock end it.
    for (const since of ['1', '2']) await expect(guess('right', since)).rejects.toMatchObject(refused);
    now += 24 * 3600_000;
    expect(await guess('right')).toBe('right');
  });

  it('end within less than a day by an unlock, and one waits no longer', async () => {
    const limiter = createLimiter({ redis: undefined, clock: systemClock, log: silentLog(), prefix: 'test' });
    const { guess } = guessing(limiter);
    for (let i = 0; i < 20; i += 1) await guess('wrong');
    await expect(guess('right')).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await guess('right', '1')).toBe('right');
  });

  it('make who goes on with wrong ones wait for an hour, then for five, then for fourteen', async () => {
    let now = systemClock.now();
    const clock = { ...systemClock, now: () => now };
    const limiter = createLimiter({ redis: undefined, clock, log: silentLog(), prefix: 'test' });
    const { guess, checks } = guessing(limiter);
    const waits: [wrong: number, minutes: number][] = [];
    while (checks() < 100 || waits.at(-1)?.[0] !== 100)
      await guess('wrong').catch(({ retryAfterSeconds: seconds }: { retryAfterSeconds: number }) => {
        waits.push([checks(), seconds / 60]);
        now += seconds * 1000;
      });
    expect(waits).toEqual([
      [20, 60],
      [30, 60],
      [50, 60],
      [60, 60],
      [60, 4 * 60],
      [80, 60],
      [90, 60],
      [100, 14 * 60],
    ]);
  });

  it('are judged 20 times when a hundred wrong ones race in two processes, and never refused to who types right ones', async () => {
    const redis = await testRedis();
    const open = () => createLimiter({ redis, clock: systemClock, log: silentLog(), prefix: 'test' });
    const processes = [guessing(open()), guessing(open())];
    for (let round = 0; round < 4; round += 1)
      await Promise.allSettled(
        Array.from({ length: 100 }, (_, i) => (processes[i % 2] ?? guessing(open())).guess('wrong')),
      );
    expect(processes.reduce((sum, { checks }) => sum + checks(), 0)).toBe(20);
    const owner = guessing(open(), 'usr_2');
    for (let i = 0; i < 150; i += 1) expect(await owner.guess('right')).toBe('right');
  });

  it('are told of at the twentieth wrong one, once a day, although processes race', async () => {
    const redis = await testRedis();
    const open = () => createLimiter({ redis, clock: systemClock, log: silentLog(), prefix: 'test' });
    const [one, other] = [guessing(open()), guessing(open())];
    // An administrator's unlock does not begin anew.
    for (let i = 0; i < 19; i += 1) await one.guess('wrong', String(i % 2));
    expect(one.told).toEqual([]);
    await Promise.allSettled(
      Array.from({ length: 50 }, (_, i) => (i % 2 === 0 ? one : other).guess('wrong', '1')),
    );
    expect([...one.told, ...other.told]).toEqual(['usr_1']);
  });

  it('are told of again after a day, and after a failure at the next wrong one', async () => {
    let now = systemClock.now();
    const clock = { ...systemClock, now: () => now };
    const limiter = createLimiter({ redis: undefined, clock, log: silentLog(), prefix: 'test' });
    let failure: Error | undefined = temporarilyUnavailable();
    const announce = async () => {
      if (failure !== undefined) throw failure;
      return {};
    };
    const { guess, told } = guessing(limiter, 'usr_1', announce);
    const wrong = async (count: number) => {
      for (let i = 0; i < count; i += 1) expect(await guess('wrong').catch(() => undefined)).toBeUndefined();
    };
    await wrong(20);
    expect(told).toHaveLength(1);
    now += 3600_000;
    failure = undefined;
    await wrong(5);
    expect(told).toHaveLength(2);
  });

  it('have a counter of their own at an address, so that they lock no passwords there, nor passwords them', async () => {
    const limiter = createLimiter({ redis: undefined, clock: systemClock, log: silentLog(), prefix: 'test' });
    const limit = createGuessLimits({
      ownCounter: async () => undefined,
      limiter,
      limits: {
        account: outOfReach('account'),
        person: outOfReach('person'),
        knownBrowser: outOfReach('known'),
        address: { name: 'address', limit: 3, windowSeconds: 60 },
        accountTotal: outOfReach('account-total'),
        addressTotal: outOfReach('address-total'),
        codes: [],
      },
      tellOfWrongCodes: async () => {},
      audit: { signInFailed: () => {}, signInLimited: () => {} },
    });
    const attempt = (guess: object, right = false) =>
      limit(
        from(1),
        { tenantId: 'acme', clientId: '', identifier: 'usr_1', ...guess },
        {
          whose: async () => ({ userId: 'usr_1', since: '', lockedDownAt: 0n }),
          check: async () => right || undefined,
        },
      );
    for (let i = 0; i < 3; i += 1) await attempt({ factor: 'totp' });
    await expect(attempt({ factor: 'totp' })).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await attempt({}, true)).toBe(true);
    for (let i = 0; i < 3; i += 1) await attempt({});
    await expect(attempt({})).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await attempt({ method: 'passkey' }, true)).toBe(true);
  });
});
