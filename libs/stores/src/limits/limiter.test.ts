import { randomUUID } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fakeClock, redisUrl, testRedis, testRedisCluster, openTcpProxy } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '@tessera/kit';
import type { Clock } from '@tessera/kit';
import { openRedis } from '../redis/redis.ts';
import type { RedisHandle } from '../redis/redis.ts';
import { createLimiter } from './limiter.ts';
import type { Limiter } from './limiter.ts';
import { createLogger } from '@tessera/telemetry';

const silent = createLogger({ service: 'test', level: 'silent' });
const rule = { name: 'sign-in.account', limit: 5, windowSeconds: 60 };

interface Kind {
  readonly name: string;
  create(clock: Clock): Promise<Limiter>;
}

let cluster: Promise<RedisHandle> | undefined;

const kinds: readonly Kind[] = [
  {
    name: 'the memory of the process',
    create: async (clock) => createLimiter({ redis: undefined, clock, log: silent, prefix: 'test' }),
  },
  {
    name: 'Redis',
    create: async (clock) => createLimiter({ redis: await testRedis(), clock, log: silent, prefix: 'test' }),
  },
  {
    name: 'a Redis cluster',
    create: async (clock) =>
      createLimiter({
        redis: await (cluster ??= testRedisCluster()),
        clock,
        log: silent,
        prefix: randomUUID(),
      }),
  },
];

describe.each(kinds)('a limiter on $name', ({ create }) => {
  it('lets at most the limit through, of 200 attempts at once', async () => {
    const limiter = await create(systemClock);
    const results = await Promise.all(Array.from({ length: 200 }, () => limiter.consume(rule, 'ada')));
    expect(results.filter((result) => result.allowed)).toHaveLength(5);
    for (const result of results) {
      expect(result.retryAfterSeconds).toBeGreaterThanOrEqual(result.allowed ? 0 : 40);
      expect(result.retryAfterSeconds).toBeLessThanOrEqual(result.allowed ? 0 : 60);
    }
  });

  it('counts keys and rules separately', async () => {
    const limiter = await create(systemClock);
    const once = { ...rule, limit: 1 };
    expect((await limiter.consume(once, 'ada')).allowed).toBe(true);
    expect((await limiter.consume(once, 'ada')).allowed).toBe(false);
    expect((await limiter.consume(once, 'bob')).allowed).toBe(true);
    expect((await limiter.consume({ ...once, name: 'other' }, 'ada')).allowed).toBe(true);
    expect((await limiter.consume(once, 'bob')).allowed).toBe(false);
  });

  it('opens a new window when the first has ended, however many attempts were refused meanwhile', async () => {
    const limiter = await create(systemClock);
    const short = { ...rule, limit: 1, windowSeconds: 0.3 };
    expect((await limiter.consume(short, 'ada')).allowed).toBe(true);
    expect((await limiter.consume(short, 'ada')).allowed).toBe(false);
    await expect.poll(async () => (await limiter.consume(short, 'ada')).allowed).toBe(true);
  });

  it('takes one attempt back, leaves the others counted, and never exceeds the limit', async () => {
    const limiter = await create(systemClock);
    const two = { ...rule, limit: 2 };
    await limiter.refund(two, 'ada');
    for (let time = 0; time < 5; time += 1) {
      expect((await limiter.consume(two, 'ada')).allowed).toBe(true);
      await limiter.refund(two, 'ada');
    }
    const all = await Promise.all([1, 2, 3].map(() => limiter.consume(two, 'ada')));
    expect(all.filter(({ allowed }) => allowed)).toHaveLength(2);
    await limiter.refund(two, 'ada');
    expect((await limiter.consume(two, 'ada')).allowed).toBe(true);
    expect((await limiter.consume(two, 'ada')).allowed).toBe(false);
  });

  it('lets nothing through at a limit of zero', async () => {
    const limiter = await create(systemClock);
    const result = await limiter.consume({ ...rule, limit: 0 }, 'ada');
    expect(result.allowed).toBe(false);
    expect(result.retryAfterSeconds).toBeGreaterThan(0);
  });
});

const guess = async (
  limiter: Limiter,
  outcome: 'failed' | 'withdrawn' | 'forgiven',
  of = rule,
  key = 'ada',
) => {
  const result = await limiter.beginGuess(of, key);
  if (result.allowed) await limiter.endGuess(of, key, outcome);
  return result;
};

describe.each(kinds)('guesses of a secret, limited on $name', ({ create }) => {
  it('are never more than the limit, however many are made at once', async () => {
    const limiter = await create(systemClock);
    let inProgress = 0;
    const most: number[] = [];
    const results = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const result = await limiter.beginGuess(rule, 'ada');
        if (!result.allowed) return result;
        inProgress += 1;
        most.push(inProgress);
        await nextTurn();
        inProgress -= 1;
        await limiter.endGuess(rule, 'ada', 'failed');
        return result;
      }),
    );
    expect(most).toHaveLength(rule.limit);
    const refused = results.filter(({ allowed }) => !allowed);
    expect(refused.map(({ busy }) => busy)).toEqual(Array(195).fill(false));
    for (const { retryAfterSeconds } of refused) expect(retryAfterSeconds).toBeGreaterThan(40);
  });

  it('wait for each other and are never refused while they are right, of 500 at once', async () => {
    const limiter = await create(systemClock);
    for (let failed = 1; failed < rule.limit; failed += 1) await guess(limiter, 'failed');
    const results = await Promise.all(Array.from({ length: 500 }, () => guess(limiter, 'withdrawn')));
    const refused = results.filter(({ allowed }) => !allowed);
    // A second may be too short for all of them on a busy machine, which is no limit of guesses.
    expect(refused.filter(({ busy, retryAfterSeconds }) => !busy || retryAfterSeconds !== 1)).toEqual([]);
    expect((await guess(limiter, 'failed')).allowed).toBe(true);
    expect(await guess(limiter, 'withdrawn')).toMatchObject({ allowed: false, busy: false });
  });

  it('get no answer about the limit while others that are in progress take all of it', async () => {
    const limiter = await create(systemClock);
    const two = { ...rule, limit: 2 };
    for (const _ of [1, 2]) await limiter.beginGuess(two, 'ada');
    const busy = { allowed: false, busy: true, retryAfterSeconds: 1 };
    expect(await limiter.beginGuess(two, 'ada')).toEqual(busy);
    expect(await limiter.beginGuess(two, 'ada', { wait: false })).toEqual(busy);
    expect((await limiter.beginGuess(two, 'bob')).allowed).toBe(true);
    const waiting = limiter.beginGuess(two, 'ada');
    await limiter.endGuess(two, 'ada', 'withdrawn');
    expect((await waiting).allowed).toBe(true);
  });

  it('are forgotten on request, but not those of others in progress', async () => {
    const limiter = await create(systemClock);
    const two = { ...rule, limit: 2 };
    await guess(limiter, 'failed', two);
    const first = await limiter.beginGuess(two, 'ada');
    expect(first.allowed).toBe(true);
    await limiter.endGuess(two, 'ada', 'forgiven');
    for (const _ of [1, 2]) expect((await limiter.beginGuess(two, 'ada')).allowed).toBe(true);
    const waiting = limiter.beginGuess(two, 'ada');
    await limiter.endGuess(two, 'ada', 'forgiven');
    expect((await waiting).allowed).toBe(true);
    expect((await limiter.beginGuess(two, 'ada', { wait: false })).busy).toBe(true);
  });
});

describe('a limiter in memory', () => {
  it('uses the given clock', async () => {
    const clock = fakeClock();
    const limiter = createLimiter({ redis: undefined, clock, log: silent, prefix: 'test' });
    const once = { ...rule, limit: 1 };
    await limiter.consume(once, 'ada');
    clock.advance(30_500);
    expect(await limiter.consume(once, 'ada')).toEqual({ allowed: false, retryAfterSeconds: 30 });
    clock.advance(29_500);
    expect(await limiter.consume(once, 'ada')).toEqual({ allowed: true, retryAfterSeconds: 0 });
  });
});

describe('a limiter on Redis', () => {
  let direct: RedisHandle;
  beforeAll(async () => {
    direct = await openRedis({ url: redisUrl() });
  });
  afterAll(() => direct.close());

  it('keeps no readable key, and every counter expires', async () => {
    const redis = await testRedis();
    const prefix = randomUUID();
    const limiter = createLimiter({ redis, clock: systemClock, log: silent, prefix });
    await limiter.consume(rule, 'ada@example.org');
    const [name] = (await direct.call('KEYS', `*${prefix}*`)) as string[];
    expect(name).toMatch(new RegExp(`${prefix}:limit:sign-in\\.account:[\\w-]{22}$`));
    expect(Number(await direct.call('PTTL', name ?? ''))).toBeGreaterThan(0);
    await direct.call('PERSIST', name ?? '');
    await limiter.consume(rule, 'ada@example.org');
    expect(Number(await direct.call('PTTL', name ?? ''))).toBeGreaterThan(0);
  });

  it('gives no new attempts when Redis loses its counters, until the window ends or a success resets it', async () => {
    const redis = await testRedis();
    const prefix = randomUUID();
    const clock = fakeClock();
    const limiter = createLimiter({ redis, clock, log: silent, prefix });
    const lose = async () => direct.call('DEL', ...((await direct.call('KEYS', `*${prefix}*`)) as string[]));
    const secrets = { ...rule, name: 'sign-in.address' };
    for (let i = 0; i < rule.limit; i += 1) {
      expect((await limiter.consume(rule, 'ada')).allowed).toBe(true);
      expect((await guess(limiter, 'failed', secrets)).allowed).toBe(true);
      await lose();
    }
    clock.advance(20_000);
    expect(await limiter.consume(rule, 'ada')).toEqual({ allowed: false, retryAfterSeconds: 40 });
    expect(await guess(limiter, 'failed', secrets)).toEqual({
      allowed: false,
      busy: false,
      retryAfterSeconds: 40,
    });
    expect((await limiter.consume(rule, 'bob')).allowed).toBe(true);
    clock.advance(40_000);
    for (let i = 1; i < rule.limit; i += 1) await guess(limiter, 'failed', secrets);
    await guess(limiter, 'forgiven', secrets);
    for (let i = 0; i < rule.limit; i += 1) await guess(limiter, 'failed', secrets);
    expect((await guess(limiter, 'failed', secrets)).allowed).toBe(false);
  });

  it('refuses what another process used up, and does not count that against its own memory', async () => {
    const redis = await testRedis();
    const prefix = randomUUID();
    const [one, other] = [0, 1].map(() => createLimiter({ redis, clock: systemClock, log: silent, prefix }));
    for (let i = 0; i < rule.limit; i += 1) await one?.consume(rule, 'ada');
    for (let i = 0; i < rule.limit; i += 1) expect((await other?.consume(rule, 'ada'))?.allowed).toBe(false);
    await one?.refund(rule, 'ada');
    expect((await other?.consume(rule, 'ada'))?.allowed).toBe(true);
  });

  it('limits the guesses at several processes together, and lets those wait that find no room', async () => {
    const redis = await testRedis();
    const prefix = randomUUID();
    const processes = Array.from({ length: 4 }, () =>
      createLimiter({ redis, clock: systemClock, log: silent, prefix }),
    );
    const each = (outcome: 'failed' | 'withdrawn', count: number) =>
      Promise.all(
        processes.flatMap((limiter) => Array.from({ length: count }, () => guess(limiter, outcome))),
      );
    const right = await each('withdrawn', 50);
    expect(right.filter(({ allowed, busy }) => !allowed && !busy)).toEqual([]);
    const wrong = await each('failed', 50);
    expect(wrong.filter(({ allowed }) => allowed)).toHaveLength(rule.limit);
    expect(wrong.filter(({ allowed, busy }) => !allowed && busy)).toEqual([]);
  });

  it('forgets after a while the guesses of a process that died, however many others are made meanwhile', async () => {
    const redis = await testRedis();
    const prefix = randomUUID();
    const limiterOf = () => createLimiter({ redis, clock: systemClock, log: silent, prefix });
    const [died, lives] = [limiterOf(), limiterOf()];
    const now = { wait: false };
    for (let i = 1; i < rule.limit; i += 1) await died.beginGuess(rule, 'ada', now);
    const [key = ''] = (await direct.call('KEYS', `*${prefix}*:begun`)) as string[];
    const inProgress = async () => (await direct.call('ZRANGE', key, '0', '-1')) as string[];
    // As if they had begun 29 s ago, and then 30.
    const members = await inProgress();
    for (const member of members) await direct.call('ZINCRBY', key, '-29000', member);
    for (let i = 0; i < 3; i += 1) expect((await guess(lives, 'withdrawn')).allowed).toBe(true);
    expect((await inProgress()).toSorted()).toEqual(members.toSorted());
    for (const member of members) await direct.call('ZINCRBY', key, '-1000', member);
    const all = Array.from({ length: rule.limit }, () => lives.beginGuess(rule, 'ada', now));
    expect((await Promise.all(all)).filter(({ allowed }) => allowed)).toHaveLength(rule.limit);
  });

  it('is stricter while Redis is unavailable, and logs it once', async () => {
    const proxy = await openTcpProxy(redisUrl());
    const written: string[] = [];
    const log = createLogger(
      { service: 'test', level: 'info' },
      { write: (line: string) => void written.push(line) },
    );
    const redis = await openRedis({ url: proxy.url, keyPrefix: `test:${randomUUID()}:` });
    try {
      const limiter = createLimiter({ redis, clock: systemClock, log, prefix: 'test' });
      await proxy.cut();
      const results = await Promise.all(Array.from({ length: 200 }, () => limiter.consume(rule, 'ada')));
      expect(results.filter((result) => result.allowed)).toHaveLength(2);
      expect((await limiter.consume({ ...rule, limit: 1 }, 'bob')).allowed).toBe(true);
      const secrets = { ...rule, name: 'sign-in.address' };
      const guesses = await Promise.all(Array.from({ length: 200 }, () => guess(limiter, 'failed', secrets)));
      expect(guesses.filter((result) => result.allowed)).toHaveLength(2);
      expect(written.join('').match(/ratelimit\.degraded/g)).toHaveLength(1);
      await proxy.mend();
      const isBack = () => written.join('').includes('ratelimit.restored');
      await expect.poll(async () => (await limiter.consume(rule, 'eve')) && isBack()).toBe(true);
    } finally {
      await redis.close();
      await proxy.close();
    }
  });
});
