import { randomUUID } from 'node:crypto';
import { counting, openTcpProxy, redisUrl, testRedis, testRedisCluster } from '@tessera/test-kit';
import { systemClock } from '@tessera/kit';
import { createLogger } from '@tessera/telemetry';
import { describe, expect, it } from 'vitest';
import { openRedis, type RedisHandle } from '../redis/redis.ts';
import { createLimiter, type Counted, type Limiter } from './limiter.ts';

const log = createLogger({ service: 'test', level: 'silent' });
const on = (redis: RedisHandle | undefined, prefix: string = randomUUID()) =>
  createLimiter({ redis, clock: systemClock, log, prefix });

let cluster: Promise<RedisHandle> | undefined;
const ofCluster = () => (cluster ??= testRedisCluster());

const limit = (of: Counted['of'], name: string, most: number): Counted => ({
  rule: { name, limit: most, windowSeconds: 60 },
  key: 'ada',
  of,
});
const endAll = (limiter: Limiter, counters: readonly Counted[], outcome: 'failed' | 'withdrawn') =>
  limiter.endGuesses(
    counters.filter(({ of }) => of === 'guesses').map(({ rule, key }) => ({ rule, key, outcome })),
  );
const hasRoom = async (limiter: Limiter, { rule, key }: Counted) =>
  (await limiter.beginGuess(rule, key, { wait: false })).allowed;

const kinds: readonly (readonly [string, () => Promise<Limiter>])[] = [
  ['the memory of the process', async () => on(undefined)],
  ['Redis', async () => on(await testRedis())],
  ['a Redis cluster', async () => on(await ofCluster())],
];

describe.each(kinds)('several limits on %s', (_kind, create) => {
  it('count in order up to the first that refuses, and nothing on those after it', async () => {
    const limiter = await create();
    const [account, total, person] = [
      limit('guesses', 'account', 5),
      limit('attempts', 'total', 1),
      limit('guesses', 'person', 1),
    ];
    const all = [account, total, person];
    expect((await limiter.countAll(all)).map(({ allowed }) => allowed)).toEqual([true, true, true]);
    await endAll(limiter, all, 'withdrawn');
    const results = await limiter.countAll(all);
    expect(results.map(({ allowed, busy }) => [allowed, busy])).toEqual([
      [true, false],
      [false, false],
    ]);
    expect(results[1]?.retryAfterSeconds).toBeGreaterThan(40);
    expect(await hasRoom(limiter, person)).toBe(true);
  });

  it('let exactly as many through as each allows, of 200 at once', async () => {
    const limiter = await create();
    const total = limit('attempts', 'total', 8);
    const all = [limit('guesses', 'account', 5), total, limit('guesses', 'person', 3)];
    const results = await Promise.all(
      Array.from({ length: 200 }, async () => {
        const counted = await limiter.countAll(all);
        await endAll(
          limiter,
          all.filter((_, index) => counted[index]?.allowed === true),
          'failed',
        );
        return counted;
      }),
    );
    const passed = (index: number) => results.filter((counted) => counted[index]?.allowed === true);
    expect([0, 1, 2].map((index) => passed(index).length)).toEqual([5, 5, 3]);
    const rest = await Promise.all([1, 2, 3, 4].map(() => limiter.consume(total.rule, total.key)));
    expect(rest.filter(({ allowed }) => allowed)).toHaveLength(3);
  });

  it('wait for one in the middle whose guesses in progress leave no room, and keep those before it', async () => {
    const limiter = await create();
    const [account, person, after] = [
      limit('guesses', 'account', 2),
      limit('guesses', 'person', 1),
      limit('guesses', 'after', 1),
    ];
    expect(await hasRoom(limiter, person)).toBe(true);
    const all = [account, person, after];
    const inVain = await limiter.countAll(all);
    expect(inVain.map(({ allowed, busy }) => [allowed, busy])).toEqual([
      [true, false],
      [false, true],
    ]);
    expect(await hasRoom(limiter, after)).toBe(true);
    await endAll(limiter, [after], 'withdrawn');
    const waiting = limiter.countAll(all);
    await endAll(limiter, [person], 'withdrawn');
    expect((await waiting).map(({ allowed }) => allowed)).toEqual([true, true, true]);
    expect(await hasRoom(limiter, account)).toBe(false);
  });
});

describe('several limits', () => {
  it('are one script on Redis, and one for each limit on a cluster, where each has a slot of its own', async () => {
    const all = [
      limit('guesses', 'account', 5),
      limit('attempts', 'total', 5),
      limit('guesses', 'person', 5),
    ];
    const asked = async (handle: RedisHandle) => {
      const redis = counting(handle);
      const limiter = on(redis);
      await limiter.countAll(all);
      await endAll(limiter, all, 'failed');
      await limiter.countAll([]);
      await limiter.endGuesses([]);
      return redis.names;
    };
    const [count, end] = ['limit.count', 'limit.end'];
    expect(await asked(await testRedis())).toEqual([count, end]);
    expect(await asked(await ofCluster())).toEqual([count, count, count, end, end]);
  });

  it('are not counted after one that another attempt has used up here while Redis was asked', async () => {
    const handle = await testRedis();
    const { promise: answered, resolve: answer } = Promise.withResolvers<void>();
    let isFirst = true;
    const slow: RedisHandle = {
      ...handle,
      script: (source) => {
        const run = handle.script(source);
        return async (keys, args) => {
          const holds = source.name === 'limit.count' && isFirst;
          if (holds) isFirst = false;
          const reply = await run(keys, args);
          if (holds) await answered;
          return reply;
        };
      },
    };
    const prefix = randomUUID();
    const limiter = on(slow, prefix);
    const [account, total, person, last] = [
      limit('guesses', 'account', 5),
      limit('attempts', 'total', 1),
      limit('guesses', 'person', 1),
      limit('attempts', 'last', 1),
    ];
    const counting = limiter.countAll([account, total, person, last]);
    const elsewhere = on(handle, prefix);
    expect(await hasRoom(elsewhere, person)).toBe(false);
    // As if Redis had lost it.
    await elsewhere.refund(total.rule, total.key);
    expect((await limiter.consume(total.rule, total.key)).allowed).toBe(true);
    answer();
    expect((await counting).map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(await hasRoom(elsewhere, person)).toBe(true);
    expect((await elsewhere.consume(last.rule, last.key)).allowed).toBe(true);
  });

  it('are counted by each process at half the rate while Redis is unavailable', async () => {
    const proxy = await openTcpProxy(redisUrl());
    const redis = await openRedis({ url: proxy.url, keyPrefix: `test:${randomUUID()}:` });
    try {
      const limiter = on(redis);
      await proxy.cut();
      const all = [limit('guesses', 'account', 6), limit('attempts', 'total', 2)];
      expect((await limiter.countAll(all)).map(({ allowed }) => allowed)).toEqual([true, true]);
      expect((await limiter.countAll(all)).map(({ allowed }) => allowed)).toEqual([true, false]);
      expect((await limiter.countAll(all.slice(0, 1)))[0]?.allowed).toBe(true);
      expect((await limiter.countAll(all))[0]).toMatchObject({ allowed: false, busy: true });
    } finally {
      await redis.close();
      await proxy.close();
    }
  });
});
