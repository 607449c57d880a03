import { randomBytes } from 'node:crypto';
import { redisUrl, openTcpProxy } from '@tessera/test-kit';
import { Redis } from 'ioredis';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '@tessera/telemetry';
import type { TcpProxy } from '@tessera/test-kit';
import { openRedis } from './redis.ts';
import type { RedisHandle, RedisOptions } from './redis.ts';

const keyPrefix = `test:${randomBytes(8).toString('hex')}:`;
const unavailable = { name: 'OAuthError', code: 'temporarily_unavailable' };
const closing: RedisHandle[] = [];
let direct: Redis;

beforeAll(() => {
  direct = new Redis(redisUrl());
});
afterAll(async () => {
  for (const redis of closing) await redis.close();
  const keys = await direct.keys(`${keyPrefix}*`);
  if (keys.length > 0) await direct.del(...keys);
  direct.disconnect();
});

function recorder() {
  const written: string[] = [];
  const log = createLogger(
    { service: 'test', level: 'info' },
    { write: (line: string) => void written.push(line) },
  );
  return { log, text: () => written.join('') };
}

async function open(options: Partial<RedisOptions> = {}): Promise<RedisHandle> {
  const redis = await openRedis({ url: redisUrl(), keyPrefix, ...options });
  closing.push(redis);
  return redis;
}

describe('openRedis', () => {
  it('prefixes the keys of commands and scripts, and of nothing else', async () => {
    const redis = await open();
    expect(await redis.call('SET', 'plain', 'v', 'PX', 60_000)).toBe('OK');
    expect(await redis.call('SET', 'plain', 'v', 'NX')).toBeNull();
    expect(await redis.call('MGET', 'plain', 'absent')).toEqual(['v', null]);
    expect(await direct.get(`${keyPrefix}plain`)).toBe('v');
    const script = redis.script({
      name: 'test.both',
      lua: `return {KEYS[1], KEYS[2], ARGV[1], redis.call('GET', KEYS[1])}`,
    });
    expect(await script(['plain', 'other'], ['plain'])).toEqual([
      `${keyPrefix}plain`,
      `${keyPrefix}other`,
      'plain',
      'v',
    ]);
  });

  it('takes texts, numbers and bytes, and gives numbers, texts and lists', async () => {
    const redis = await open();
    const echo = redis.script({
      name: 'test.echo',
      lua: `return {#ARGV[1], ARGV[2], tonumber(ARGV[3]) + 1, false}`,
    });
    expect(await echo(['k'], [Buffer.from([0, 255, 128]), 'text', 41])).toEqual([3, 'text', 42, null]);
    expect(await redis.call('HSET', 'hash', 'a', '1', 'b', 2)).toBe(2);
    expect(await redis.call('HGETALL', 'hash')).toEqual(['a', '1', 'b', '2']);
  });

  it('sends a script by its digest, and whole only when Redis does not have it', async () => {
    const redis = await open();
    const script = redis.script({ name: 'test.once', lua: `return '${randomBytes(8).toString('hex')}'` });
    const calls = async (command: string) =>
      Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(await direct.info('commandstats'))?.[1] ?? 0);
    const before = await calls('eval');
    const answers = [await script([], []), await script([], []), await script([], [])];
    expect(new Set(answers).size).toBe(1);
    await direct.script('FLUSH');
    expect(await script([], [])).toBe(answers[0]);
    expect(await calls('eval')).toBeGreaterThanOrEqual(before + 2);
  });

  it('answers each of many callers at once', async () => {
    // So many wait for one another on a busy machine.
    const redis = await open({ commandTimeoutMs: 30_000 });
    const echo = redis.script({ name: 'test.turn', lua: 'return ARGV[1]' });
    const names = Array.from({ length: 200 }, (_, index) => `caller ${index}`);
    expect(await Promise.all(names.map((name) => echo([], [name])))).toEqual(names);
  });

  it('answers a command that is wrong with the error itself, without its arguments', async () => {
    const redis = await open();
    await redis.call('SET', 'text', 'v');
    const failure: unknown = await redis.call('INCR', 'text').catch((error: unknown) => error);
    expect(failure).toMatchObject({ name: 'ReplyError' });
    expect(failure).not.toHaveProperty('command');
    const broken = redis.script({ name: 'test.broken', lua: `return redis.call('INCR', KEYS[1])` });
    await expect(broken(['text'], ['canary'])).rejects.toMatchObject({ name: 'ReplyError' });
  });

  it.each([
    'LOADING loading the dataset',
    'READONLY a replica',
    'OOM command not allowed',
    'NOPERM no',
    'DENIED Redis is running in protected mode',
    'MISCONF disk',
  ])('is temporarily unavailable when Redis answers %s', async (reply) => {
    const redis = await open();
    const refuse = redis.script({ name: 'test.refuse', lua: `return redis.error_reply(ARGV[1])` });
    await expect(refuse([], [reply])).rejects.toMatchObject({ ...unavailable, retryAfterSeconds: 1 });
  });
});

describe('a Redis that becomes unavailable', () => {
  let proxy: TcpProxy;
  beforeEach(async () => {
    proxy = await openTcpProxy(redisUrl());
  });
  afterEach(() => proxy.close());

  it('can be unavailable when it is opened, and is used once it is there', async () => {
    await proxy.cut();
    const { log, text } = recorder();
    const redis = await open({ url: proxy.url, openTimeoutMs: 100, log });
    await expect(redis.call('PING')).rejects.toMatchObject(unavailable);
    expect(text()).toContain('not reachable');
    await proxy.mend();
    await expect.poll(() => redis.call('PING').catch(() => undefined)).toBe('PONG');
  });

  it('makes calls fail at once, sends none of them later, and comes back by itself', async () => {
    const { log, text } = recorder();
    const redis = await open({ url: proxy.url, log, commandTimeoutMs: 5000 });
    expect(await redis.call('PING')).toBe('PONG');
    await proxy.cut();
    const started = performance.now();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 50 }, () => redis.call('INCR', 'counted')),
    );
    for (const outcome of outcomes)
      expect(outcome).toMatchObject({ status: 'rejected', reason: unavailable });
    expect(performance.now() - started).toBeLessThan(2500);
    await proxy.mend();
    await expect.poll(() => redis.call('PING').catch(() => undefined)).toBe('PONG');
    expect(await redis.call('GET', 'counted')).toBeNull();
    expect(text().match(/lost the connection/g)).toHaveLength(1);
    await expect.poll(text).toContain('reconnected');
  });

  it('that hangs makes calls fail at their time-out, soon at once, and comes back by itself', async () => {
    const redis = await open({ url: proxy.url, commandTimeoutMs: 50 });
    proxy.freeze();
    const started = performance.now();
    await expect(redis.call('PING')).rejects.toMatchObject(unavailable);
    expect(performance.now() - started).toBeLessThan(3000);
    await expect
      .poll(async () => {
        const asked = performance.now();
        await redis.call('PING').catch(() => undefined);
        return performance.now() - asked;
      })
      .toBeLessThan(20);
    await proxy.mend();
    await expect.poll(() => redis.call('PING').catch(() => undefined)).toBe('PONG');
  });
});

describe('the eviction policy', () => {
  let proxy: TcpProxy;
  beforeEach(async () => {
    proxy = await openTcpProxy(redisUrl());
  });
  afterEach(() => proxy.close());

  const evicting = (answer: Buffer) =>
    Buffer.from(answer.toString('latin1').replace('$10\r\nnoeviction', '$11\r\nallkeys-lru'), 'latin1');

  it('other than noeviction refuses the start with a sentence that says what to change', async () => {
    proxy.rewrite(evicting);
    await expect(openRedis({ url: proxy.url })).rejects.toThrow(
      /maxmemory-policy allkeys-lru .* Set it to noeviction/,
    );
  });

  it('is checked at every connection, and calls are refused while it is wrong', async () => {
    const redis = await open({ url: proxy.url });
    proxy.rewrite(evicting);
    await proxy.cut();
    await proxy.mend();
    await expect
      .poll(() => redis.call('PING').catch((error: unknown) => (error as Error).cause))
      .toMatchObject({ message: expect.stringContaining('allkeys-lru') as string });
    proxy.rewrite(undefined);
    await proxy.cut();
    await proxy.mend();
    await expect.poll(() => redis.call('PING').catch(() => undefined)).toBe('PONG');
  });

  it('that Redis does not reveal is logged as a warning', async () => {
    const user = `test-${randomBytes(6).toString('hex')}`;
    await direct.call('ACL', 'SETUSER', user, 'on', '>password', '~*', '+@all', '-config', '-info');
    try {
      const url = new URL(redisUrl());
      url.username = user;
      url.password = 'password';
      const { log, text } = recorder();
      const redis = await open({ url: url.href, log });
      expect(await redis.call('PING')).toBe('PONG');
      expect(text()).toContain('make sure that it is noeviction');
    } finally {
      await direct.call('ACL', 'DELUSER', user);
    }
  });
});
