import { startReplicatedRedis } from '@tessera/test-kit/provision';
import type { ReplicatedRedis } from '@tessera/test-kit/provision';
import { Redis } from 'ioredis';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createLogger } from '@tessera/telemetry';
import { Secret } from '@tessera/kit';
import { openRedis } from './redis.ts';
import type { RedisHandle, RedisOptions } from './redis.ts';

const unavailable = { name: 'OAuthError', code: 'temporarily_unavailable' };

let servers: ReplicatedRedis;
let closing: (() => unknown)[];
beforeEach(async () => {
  closing = [];
  servers = await startReplicatedRedis();
  closing.push(() => servers.stop());
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

async function open(options: Partial<RedisOptions> = {}): Promise<RedisHandle> {
  const redis = await openRedis({ url: servers.url, ...options });
  closing.push(() => redis.close());
  return redis;
}

function direct(url: string): Redis {
  const redis = new Redis(url);
  redis.on('error', () => undefined);
  closing.push(() => redis.disconnect());
  return redis;
}

async function sentinelsAgree(): Promise<void> {
  for (const { url } of servers.sentinels) {
    const sentinel = direct(url);
    await expect
      .poll(async () => sentinel.call('SENTINEL', 'CKQUORUM', servers.masterName).catch(() => ''))
      .toContain('OK 3 usable');
    const replicas = async () =>
      (await sentinel.call('SENTINEL', 'REPLICAS', servers.masterName)) as unknown[];
    await expect.poll(async () => (await replicas()).length).toBe(1);
  }
}

describe('passwords of Redis and of its Sentinels', () => {
  it('are apart, and each is needed', async () => {
    const passwords = { redis: 'p@ss/word', sentinel: 'another' };
    const guarded = await startReplicatedRedis({ passwords });
    closing.push(() => guarded.stop());
    const url = guarded.url.replace('://', `://:${encodeURIComponent(passwords.redis)}@`);
    const sentinelPassword = new Secret(passwords.sentinel);
    const redis = await open({ url, sentinelPassword });
    expect(await redis.call('SET', 'k', 'v')).toBe('OK');
    for (const options of [{ url }, { url: guarded.url, sentinelPassword }]) {
      const refused = await open({ ...options, openTimeoutMs: 500 });
      await expect(refused.call('PING')).rejects.toMatchObject(unavailable);
    }
  });
});

describe('Redis behind Sentinels', () => {
  it('is found by the name of its master, also where some of the Sentinels are unavailable', async () => {
    await servers.sentinels[0]?.stop();
    const redis = await open({ keyPrefix: 'test:' });
    expect(await redis.call('SET', 'plain', 'v')).toBe('OK');
    expect(await direct(servers.servers[0].url).get('test:plain')).toBe('v');
  });

  it('that has another name is unavailable', async () => {
    const redis = await open({
      url: servers.url.replace(servers.masterName, 'other'),
      openTimeoutMs: 300,
    });
    await expect(redis.call('PING')).rejects.toMatchObject(unavailable);
  });

  it('is found again within ten seconds after its master died; calls are refused in between and none is sent twice', async () => {
    await sentinelsAgree();
    const written: string[] = [];
    const log = createLogger(
      { service: 'test', level: 'info' },
      { write: (line: string) => void written.push(line) },
    );
    const redis = await open({ log });
    expect(await redis.call('INCR', 'counted')).toBe(1);
    const replica = direct(servers.servers[1].url);
    await expect.poll(() => replica.get('counted')).toBe('1');
    await servers.servers[0].stop();
    const died = performance.now();
    let answered = 1;
    let last = 1;
    while (answered === 1) {
      const outcome = await redis.call('INCR', 'counted').catch((error: unknown) => error);
      if (typeof outcome === 'number') [answered, last] = [2, outcome];
      else expect(outcome).toMatchObject(unavailable);
      expect(performance.now() - died).toBeLessThan(10_000);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    expect(last).toBe(2);
    expect(await replica.get('counted')).toBe('2');
    await expect.poll(() => written.join('')).toContain('reconnected');
    expect(written.join('').match(/lost the connection/g)).toHaveLength(1);
  });

  it('is left for its successor while the old master still answers, cut off from its Sentinels', async () => {
    await sentinelsAgree();
    const redis = await open();
    const [before, after] = servers.servers;
    const old = direct(before.url);
    expect(await redis.call('SET', 'k', 'v')).toBe('OK');
    // Who is connected stays so; the Sentinels, thrown out, get an answer that they take for none.
    await old.call('ACL', 'SETUSER', 'default', 'resetpass', '>elsewhere');
    const clients = String(await old.client('LIST')).split('\n');
    for (const client of clients.filter((line) => line.includes(' name=sentinel-')))
      await old.client('KILL', 'ID', /^id=(\d+)/.exec(client)?.[1] ?? '');
    const serves = async () =>
      redis
        .call('CONFIG', 'GET', 'port')
        .then((reply) => (reply as string[])[1])
        .catch(() => undefined);
    await expect.poll(serves, { interval: 20 }).toBe(new URL(after.url).port);
    expect(await old.role()).toContain('master');
  });

  it('is refused when the master that took over may evict keys', async () => {
    await sentinelsAgree();
    const redis = await open();
    await direct(servers.servers[1].url).config('SET', 'maxmemory-policy', 'allkeys-lru');
    await servers.servers[0].stop();
    await expect
      .poll(() => redis.call('PING').catch((error: unknown) => (error as Error).cause))
      .toMatchObject({ message: expect.stringContaining('allkeys-lru') as string });
  });
});
