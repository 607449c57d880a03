import { openTcpProxy } from '@tessera/test-kit';
import { startRedis } from '@tessera/test-kit/provision';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createLogger } from '@tessera/telemetry';
import { openRedis } from './redis.ts';

type Server = Awaited<ReturnType<typeof startRedis>>;

let server: Server;
beforeAll(async () => {
  server = await startRedis();
});
afterAll(() => server.stop());

function recorder() {
  const lines: { message: string; err?: { message: string } }[] = [];
  const log = createLogger(
    { service: 'test', level: 'info' },
    { write: (line: string) => void lines.push(JSON.parse(line) as (typeof lines)[number]) },
  );
  return { log, lines };
}

const withPassword = (url: string) => url.replace('://', '://:unneeded@');

describe('a Redis in protected mode, which accepts connections from loopback only', () => {
  it.each([
    ['no password', (url: string) => url],
    ['a password', withPassword],
  ])('is reported once, in its own words, for a URL with %s', async (_title, urlOf) => {
    const proxy = await openTcpProxy(server.url, '127.0.0.3');
    onTestFinished(() => proxy.close());
    const { log, lines } = recorder();
    const redis = await openRedis({ url: urlOf(proxy.url), log, openTimeoutMs: 4000 });
    onTestFinished(() => redis.close());
    const refusal = expect.stringMatching(/^DENIED Redis is running in protected mode/) as string;
    await expect
      .poll(() => redis.call('PING').catch((error: unknown) => (error as Error).cause))
      .toMatchObject({ message: refusal });
    // Several attempts later: no line was added.
    await expect.poll(() => proxy.connections()).toBeGreaterThan(5);
    expect(lines.map(({ message }) => message)).toEqual([
      'lost the connection to Redis',
      'Redis is not reachable; continuing without it until it is',
    ]);
    expect(lines[1]).toMatchObject({ err: { message: refusal } });
  });
});

it('a Redis that needs no password serves a URL with one, and nothing is printed', async () => {
  const printed = vi.spyOn(console, 'warn');
  const redis = await openRedis({ url: withPassword(server.url) });
  onTestFinished(() => redis.close());
  expect(await redis.call('PING')).toBe('PONG');
  expect(printed).not.toHaveBeenCalled();
});

describe('the database of a Redis URL', () => {
  const at = (url: string, database: number) =>
    Object.assign(new URL(url), { pathname: `/${database}` }).href;

  it('is the one that commands work in', async () => {
    const redis = await openRedis({ url: at(server.url, 3) });
    onTestFinished(() => redis.close());
    expect(await redis.call('CLIENT', 'INFO')).toContain(' db=3 ');
  });

  it('refuses the start if Redis has none of the number', async () => {
    await expect(openRedis({ url: at(server.url, 99) })).rejects.toThrow(
      'Redis has no database 99. Raise "databases" in its configuration, or correct the number in REDIS_URL.',
    );
  });

  it('refuses the start at a node of a cluster, which has 0 alone', async () => {
    const node = await startRedis({ args: ['--cluster-enabled', 'yes'] });
    onTestFinished(() => node.stop());
    await expect(openRedis({ url: at(node.url, 1) })).rejects.toThrow(
      'This Redis is a cluster, which has no database 1, only 0.',
    );
  });

  it('is asked for at every connection, and nothing is written into another meanwhile', async () => {
    const proxy = await openTcpProxy(server.url);
    onTestFinished(() => proxy.close());
    const [direct, redis] = [
      await openRedis({ url: server.url }),
      await openRedis({ url: at(proxy.url, 3) }),
    ];
    onTestFinished(() => Promise.all([direct.close(), redis.close()]).then(() => undefined));
    await direct.call('ACL', 'SETUSER', 'default', '-select');
    onTestFinished(async () => void (await direct.call('ACL', 'SETUSER', 'default', '+select')));
    await proxy.cut();
    await proxy.mend();
    await expect
      .poll(() => redis.call('SET', 'astray', 'v').catch((error: unknown) => (error as Error).cause), {
        interval: 1,
      })
      .toMatchObject({ message: expect.stringContaining('may not choose database 3') as string });
    expect(await direct.call('GET', 'astray')).toBeNull();
    await direct.call('ACL', 'SETUSER', 'default', '+select');
    await proxy.cut();
    await proxy.mend();
    await expect.poll(() => redis.call('SET', 'astray', 'v').catch(() => undefined)).toBe('OK');
    expect(await direct.call('GET', 'astray')).toBeNull();
  });
});
