import { startRedisCluster } from '@tessera/test-kit/provision';
import type { RedisCluster } from '@tessera/test-kit/provision';
import { Redis } from 'ioredis';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createLogger } from '@tessera/telemetry';
import { openRedis } from './redis.ts';
import type { RedisHandle, RedisOptions } from './redis.ts';

const unavailable = { name: 'OAuthError', code: 'temporarily_unavailable' };

let servers: RedisCluster;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  servers = await startRedisCluster({ replicas: true });
  closing.push(() => servers.stop());
});
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

async function open(options: Partial<RedisOptions> = {}): Promise<RedisHandle> {
  const redis = await openRedis({ url: servers.url, keyPrefix: 'test:', ...options });
  closing.push(() => redis.close());
  return redis;
}

function direct(url: string): Redis {
  const redis = new Redis(url);
  redis.on('error', () => undefined);
  closing.push(() => redis.disconnect());
  return redis;
}

/** The first answer to a command. It is refused as unavailable until then, and never otherwise. */
async function answered(redis: RedisHandle, command: string, key: string): Promise<unknown> {
  const refusals: unknown[] = [];
  let answer: unknown;
  await expect
    .poll(async () => {
      answer = await redis.call(command, key).catch((error: unknown) => error);
      if (answer instanceof Error) refusals.push(answer);
      return answer;
    })
    .not.toBeInstanceOf(Error);
  for (const refusal of refusals) expect(refusal).toMatchObject(unavailable);
  return answer;
}

/** Which master holds a key, by what each of them has. */
async function holderOf(pattern: string): Promise<number[]> {
  const found = await Promise.all(servers.masters.map(({ url }) => direct(url).keys(pattern)));
  return found.flatMap((keys, index) => keys.map(() => index));
}

describe('a Redis cluster', () => {
  it('holds the keys of a service together and counters of the limiter apart', async () => {
    const redis = await open();
    for (let i = 0; i < 30; i += 1) {
      await redis.call('SET', `first:record:${i}`, 'v');
      await redis.call('SET', `first:limit:rule:${i}`, 'v');
    }
    expect(new Set(await holderOf('test:{first}first:record:*')).size).toBe(1);
    expect(new Set(await holderOf('test:*first:limit:*')).size).toBe(3);
    expect(await redis.call('MGET', 'first:record:1', 'first:record:2')).toEqual(['v', 'v']);
    const pointers = redis.script({
      name: 'test.follow',
      lua: `redis.call('SET', KEYS[1], KEYS[2]) return redis.call('GET', redis.call('GET', KEYS[1]))`,
    });
    expect(await pointers(['first:pointer', 'first:record:7'], [])).toBe('v');
  });

  it('runs a script on whichever node has the key, also after that node forgot it', async () => {
    const redis = await open();
    const script = redis.script({ name: 'test.own', lua: `return redis.call('INCR', KEYS[1])` });
    for (let i = 0; i < 20; i += 1) expect(await script([`s${i}:limit:x`], [])).toBe(1);
    for (const { url } of servers.masters) await direct(url).script('FLUSH');
    for (let i = 0; i < 20; i += 1) expect(await script([`s${i}:limit:x`], [])).toBe(2);
  });

  it('is used through any of its nodes', async () => {
    const url = `redis+cluster://127.0.0.1:1,${new URL(servers.replicas[0]?.url ?? '').host}`;
    const redis = await open({ url });
    for (let i = 0; i < 10; i += 1) expect(await redis.call('SET', `n${i}:k`, 'v')).toBe('OK');
  });

  it('follows a slot to another node', async () => {
    const redis = await open();
    await redis.call('SET', 'moved:k', '1');
    const [from = 0] = await holderOf('test:{moved}moved:k');
    const to = (from + 1) % 3;
    const [source, target] = [
      direct(servers.masters[from]?.url ?? ''),
      direct(servers.masters[to]?.url ?? ''),
    ];
    const slot = String(await source.call('CLUSTER', 'KEYSLOT', '{moved}'));
    const ids = {
      source: await source.call('CLUSTER', 'MYID'),
      target: await target.call('CLUSTER', 'MYID'),
    };
    await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(ids.source));
    await source.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(ids.target));
    await source.call(
      'MIGRATE',
      '127.0.0.1',
      new URL(servers.masters[to]?.url ?? '').port,
      'test:{moved}moved:k',
      0,
      5000,
    );
    // ASK: the slot is on its way.
    expect(await redis.call('INCR', 'moved:k')).toBe(2);
    for (const { url } of [...servers.masters].toSorted(({ url: a }) =>
      a === servers.masters[to]?.url ? -1 : 1,
    ))
      await direct(url).call('CLUSTER', 'SETSLOT', slot, 'NODE', String(ids.target));
    // MOVED: it has arrived.
    expect(await redis.call('INCR', 'moved:k')).toBe(3);
  });

  it('refuses the start when one of its nodes may evict keys', async () => {
    const node = direct(servers.masters[2]?.url ?? '');
    await node.config('SET', 'maxmemory-policy', 'allkeys-lru');
    try {
      await expect(openRedis({ url: servers.url })).rejects.toThrow(/allkeys-lru/);
    } finally {
      await node.config('SET', 'maxmemory-policy', 'noeviction');
    }
  });

  it('refuses calls for the keys of a node that died until its replica takes over, and sends none twice', async () => {
    const written: string[] = [];
    const log = createLogger(
      { service: 'test', level: 'info' },
      { write: (line: string) => void written.push(line) },
    );
    const redis = await open({ log });
    expect(await redis.call('INCR', 'lost:counted')).toBe(1);
    const [holder = 0] = await holderOf('test:{lost}lost:counted');
    const heir = direct(servers.replicas[holder]?.url ?? '');
    await heir.readonly();
    await expect.poll(() => heir.get('test:{lost}lost:counted')).toBe('1');
    await servers.masters[holder]?.stop();
    expect(await answered(redis, 'INCR', 'lost:counted')).toBe(2);
    // A node that has just taken over may still take the cluster for down.
    expect(await answered(redis, 'GET', 'lost:counted')).toBe('2');
    const { port } = new URL(servers.masters[holder]?.url ?? '');
    const logged = written.filter((line) =>
      line.includes('lost the connection to a node of the Redis cluster'),
    );
    expect(logged.filter((line) => line.includes(`"port":${port}`))).toHaveLength(1);
  });
});
