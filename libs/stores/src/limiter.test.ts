import { randomUUID } from 'node:crypto';
import { fakeClock, redisUrl, testRedis, testRedisCluster, openTcpProxy } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '@tessera/kit';
import type { Clock } from '@tessera/kit';
import { openRedis } from './redis/redis.ts';
import type { RedisHandle } from './redis/redis.ts';
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

  it('counts keys and rules separately, and resets a counter on request', async () => {
    const limiter = await create(systemClock);
    const once = { ...rule, limit: 1 };
    expect((await limiter.consume(once, 'ada')).allowed).toBe(true);
    expect((await limiter.consume(once, 'ada')).allowed).toBe(false);
    expect((await limiter.consume(once, 'bob')).allowed).toBe(true);
    expect((await limiter.consume({ ...once, name: 'other' }, 'ada')).allowed).toBe(true);
    await limiter.reset(once, 'ada');
    expect((await limiter.consume(once, 'ada')).allowed).toBe(true);
    expect((await limiter.consume(once, 'bob')).allowed).toBe(false);
  });

  it('opens a new window when the first has ended, however many attempts were refused meanwhile', async () => {
    const limiter = await create(systemClock);
    const short = { ...rule, limit: 1, windowSeconds: 0.3 };
    expect((await limiter.consume(short, 'ada')).allowed).toBe(true);
    expect((await limiter.consume(short, 'ada')).allowed).toBe(false);
    await expect.poll(async () => (await limiter.consume(short, 'ada')).allowed).toBe(true);
  });

  it('takes one attempt back and leaves the others counted, and gives nobody more than the limit', async () => {
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

  it('gives nobody new attempts when Redis loses its counters, until the window ends or a success resets it', async () => {
    const redis = await testRedis();
    const prefix = randomUUID();
    const clock = fakeClock();
    const limiter = createLimiter({ redis, clock, log: silent, prefix });
    const lose = async () => direct.call('DEL', ...((await direct.call('KEYS', `*${prefix}*`)) as string[]));
    for (let i = 0; i < rule.limit; i += 1) {
      expect((await limiter.consume(rule, 'ada')).allowed).toBe(true);
      await lose();
    }
    clock.advance(20_000);
    expect(await limiter.consume(rule, 'ada')).toEqual({ allowed: false, retryAfterSeconds: 40 });
    expect((await limiter.consume(rule, 'bob')).allowed).toBe(true);
    clock.advance(40_000);
    for (let i = 0; i < rule.limit; i += 1) await limiter.consume(rule, 'ada');
    expect((await limiter.consume(rule, 'ada')).allowed).toBe(false);
    await limiter.reset(rule, 'ada');
    expect((await limiter.consume(rule, 'ada')).allowed).toBe(true);
  });

  it('refuses what another process used up, and does not count that against its own memory', async () => {
    const redis = await testRedis();
    const prefix = randomUUID();
    const [one, other] = [0, 1].map(() => createLimiter({ redis, clock: systemClock, log: silent, prefix }));
    for (let i = 0; i < rule.limit; i += 1) await one?.consume(rule, 'ada');
    for (let i = 0; i < rule.limit; i += 1) expect((await other?.consume(rule, 'ada'))?.allowed).toBe(false);
    await one?.reset(rule, 'ada');
    expect((await other?.consume(rule, 'ada'))?.allowed).toBe(true);
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
      await limiter.reset(rule, 'ada');
      expect((await limiter.consume(rule, 'ada')).allowed).toBe(true);
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
