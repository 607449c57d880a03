import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  createCertificates,
  startRedis,
  startRedisCluster,
  startReplicatedRedis,
} from '@tessera/test-kit/provision';
import type { RedisTlsFiles } from '@tessera/test-kit/provision';
import { openTcpProxy } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { ConfigError, loadConfig } from './config/load-config.ts';
import { processConfig, redisOptions } from './config/settings-of-every-process.ts';
import { Secret } from '@tessera/kit';
import { openRedis } from '@tessera/stores';
import type { RedisTls } from '@tessera/stores';

const directory = mkdtempSync(join(tmpdir(), 'tessera-redis-tls-'));
const closing: (() => unknown)[] = [];
let files: RedisTlsFiles;
let ours: Required<RedisTls>;
let stranger: Required<RedisTls>;

beforeAll(async () => {
  files = await certificates('ours');
  ours = read(files);
  stranger = read(await certificates('stranger'));
});
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
  rmSync(directory, { recursive: true });
});

async function certificates(name: string): Promise<RedisTlsFiles> {
  const { ca, certificates: made } = await createCertificates(join(directory, name), ['redis']);
  return { ca, cert: made['redis']?.cert ?? '', key: made['redis']?.key ?? '' };
}

function read({ ca, cert, key }: RedisTlsFiles): Required<RedisTls> {
  const text = (path: string) => readFileSync(path, 'utf8');
  return { ca: text(ca), cert: text(cert), key: new Secret(text(key)) };
}

function kept<S extends { stop(): Promise<void> }>(store: S): S {
  closing.push(() => store.stop());
  return store;
}

/** What a PING gives, and the set-up of the connection allows. */
async function ping(url: string, tls: RedisTls): Promise<unknown> {
  const redis = await openRedis({ url, tls, openTimeoutMs: 1000 });
  try {
    return await redis.call('PING');
  } finally {
    await redis.close();
  }
}

const untrusted = {
  code: 'temporarily_unavailable',
  cause: {
    message:
      "The server's certificate is not signed by a trusted authority. Put it into TESSERA_REDIS_TLS_DIR as ca.crt.",
  },
};

describe('Redis over TLS', () => {
  it('is used with its authority and a certificate of ours, and not without either', async () => {
    const { tlsUrl } = kept(await startRedis({ tls: files }));
    expect(await ping(tlsUrl, ours)).toBe('PONG');
    const { ca, cert, key } = ours;
    for (const tls of [
      { cert, key },
      { ca: stranger.ca, cert, key },
    ])
      await expect(ping(tlsUrl, tls)).rejects.toMatchObject(untrusted);
    for (const tls of [{ ca }, { ...stranger, ca }])
      await expect(ping(tlsUrl, tls)).rejects.toMatchObject({ code: 'temporarily_unavailable' });
    await expect(ping(tlsUrl.replace('rediss', 'redis'), {})).rejects.toMatchObject({
      code: 'temporarily_unavailable',
    });
  });

  it('is used behind Sentinels that are met over TLS as well', async () => {
    const { url } = kept(await startReplicatedRedis({ tls: files }));
    expect(url).toMatch(/^rediss\+sentinel:/);
    expect(await ping(url, ours)).toBe('PONG');
    await expect(ping(url, { ...ours, ca: stranger.ca })).rejects.toMatchObject(untrusted);
  });

  it('is used as a cluster', async () => {
    const { url } = kept(await startRedisCluster({ tls: files }));
    const redis = await openRedis({ url, tls: ours });
    closing.push(() => redis.close());
    for (let i = 0; i < 10; i += 1) expect(await redis.call('SET', `n${i}:k`, 'v')).toBe('OK');
    await expect(ping(url, { ...ours, ca: stranger.ca })).rejects.toMatchObject(untrusted);
  });
});

const shapes: Record<string, () => Promise<string>> = {
  'one server': async () => kept(await startRedis({ tls: files })).tlsUrl,
  Sentinels: async () => kept(await startReplicatedRedis({ tls: files })).url,
  'a cluster': async () => kept(await startRedisCluster({ tls: files })).url,
};

describe('a TLS handshake with Redis that breaks', () => {
  it.each(Object.keys(shapes))('ends no process: %s', async (shape) => {
    const uncaught = uncaughtErrors();
    const { url, spoil } = await spoiled(await (shapes[shape]?.() ?? ''));
    for (let round = 0; round < 20; round += 1) {
      // From the first byte of the server's hello to what it sends after the handshake; every fourth time it is whole.
      spoil(round % 4 === 0 ? undefined : round * 142);
      // Closed at different moments: Redis answers a handshake that its client leaves with a fatal alert.
      const redis = await openRedis({ url, tls: ours, openTimeoutMs: 20 + round * 10 });
      await redis.call('PING').catch((error: unknown) => {
        expect(error).toMatchObject({ code: 'temporarily_unavailable' });
      });
      await redis.close();
    }
    spoil(undefined);
    // On a busy machine a cluster may take longer to be met than a connection may.
    await expect.poll(() => ping(url, ours).catch(() => 'not yet')).toBe('PONG');
    expect(uncaught).toEqual([]);
  });

  it('ends no process when an alert follows a refused certificate after the client has left', async () => {
    const uncaught = uncaughtErrors();
    const { tlsUrl } = kept(await startRedis({ tls: files }));
    const late = await answeringAfterTheEnd(Number(new URL(tlsUrl).port));
    for (let round = 0; round < 5; round += 1) {
      const url = `rediss://127.0.0.1:${late.port}`;
      const redis = await openRedis({ url, tls: { ...ours, ca: stranger.ca }, openTimeoutMs: 50 });
      await redis.close();
      await expect.poll(() => late.answered()).toBe(round + 1);
    }
    // The sockets have emitted what they had to.
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(uncaught).toEqual([]);
  });

  function uncaughtErrors(): unknown[] {
    const uncaught: unknown[] = [];
    const note = (error: unknown) => void uncaught.push(error);
    process.on('uncaughtException', note);
    onTestFinished(() => void process.off('uncaughtException', note));
    return uncaught;
  }

  /**
   * Passes on what a server sends, in one piece, only when its client has ended the connection and the server has
   * answered that.
   */
  async function answeringAfterTheEnd(port: number) {
    let answered = 0;
    const server = createServer({ allowHalfOpen: true }, (near) => {
      const far = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
      const answer: Buffer[] = [];
      far.on('data', (data: Buffer) => void answer.push(data));
      far.on('end', () => {
        near.end(Buffer.concat(answer));
        answered += 1;
      });
      near.on('data', (data) => void far.write(data)).on('end', () => far.end());
      for (const socket of [near, far]) socket.on('error', () => void (near.destroy(), far.destroy()));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    closing.push(() => new Promise((resolve) => server.close(resolve)));
    return { port: (server.address() as AddressInfo).port, answered: () => answered };
  }

  /** The same servers by way of proxies that change one byte of what each of them sends. */
  async function spoiled(target: string) {
    const { protocol, hosts, path } =
      /^(?<protocol>[a-z+]+):\/\/(?<hosts>[^/]+)(?<path>.*)$/.exec(target)?.groups ?? {};
    const proxies = await Promise.all((hosts ?? '').split(',').map((host) => openTcpProxy(`tcp://${host}`)));
    closing.push(() => Promise.all(proxies.map((proxy) => proxy.close())));
    const near = proxies.map((proxy) => new URL(proxy.url).host).join(',');
    function spoil(at: number | undefined): void {
      for (const proxy of proxies) {
        let left = at ?? Infinity;
        proxy.rewrite((answer) => {
          if (left >= 0 && left < answer.length) answer.writeUInt8((answer[left] ?? 0) ^ 0xff, left);
          left -= answer.length;
          return answer;
        });
      }
    }
    return { url: `${protocol}://${near}${path}`, spoil };
  }
});

describe('the settings of TLS to Redis', () => {
  const settings = (environment: Record<string, string>) => {
    const config = loadConfig(processConfig, environment);
    return redisOptions(config, config.REDIS_URL ?? new Secret(''));
  };

  it('are read from a folder, named as in a Secret of cert-manager', () => {
    const folder = mkdtempSync(join(tmpdir(), 'tessera-redis-tls-'));
    onTestFinished(() => rmSync(folder, { recursive: true }));
    const environment = { REDIS_URL: 'rediss://redis', TESSERA_REDIS_TLS_DIR: folder };
    expect(() => settings(environment)).toThrow(/TESSERA_REDIS_TLS_DIR names a folder without ca\.crt/);
    copyFileSync(files.ca, join(folder, 'ca.crt'));
    expect(settings(environment).tls).toMatchObject({ cert: undefined, key: undefined });
    copyFileSync(files.cert, join(folder, 'tls.crt'));
    expect(() => settings(environment)).toThrow(/belong together/);
    copyFileSync(files.key, join(folder, 'tls.key'));
    const { tls } = settings(environment);
    expect([tls?.ca?.trim(), tls?.key?.reveal().trim()]).toEqual([
      ours.ca?.trim(),
      ours.key?.reveal().trim(),
    ]);
    expect(() => settings({ ...environment, REDIS_URL: 'redis://redis' })).toThrow(/rediss/);
  });

  it('are refused with a sentence for a URL of no form', () => {
    const environment = { REDIS_URL: 'redis+sentinel://:hunter2@s1' };
    expect(() => settings(environment)).toThrow(ConfigError);
    expect(() => settings(environment)).toThrow(/REDIS_URL: .*master-name/);
    expect(() => settings(environment)).not.toThrow(/hunter2/);
  });
});
