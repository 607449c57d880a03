import { mkdtemp } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { provideExecutable } from '../executable.ts';
import { freePort, holdProcess, type Store } from '../held-process.ts';

export function redisExecutable(): string {
  return provideExecutable({
    names: ['redis-server', 'valkey-server'],
    aptPackage: 'redis-server',
    advice: 'The tests need a real Redis: set REDIS_URL, or put redis-server on the PATH.',
  });
}

export interface RedisOptions {
  /** Absent: a free one. */
  readonly port?: number;
  /** On top of the server's own. */
  readonly args?: readonly string[];
  /** How it ends; in order by default. */
  readonly signal?: 'TERM' | 'KILL';
  /**
   * In addition to the plain port, one for TLS, also to its replicas and cluster; callers have to show a certificate.
   */
  readonly tls?: RedisTlsFiles;
}

/** Paths of PEM files. */
export interface RedisTlsFiles {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

export interface RedisStore extends Store {
  /** `rediss://`; empty without TLS. */
  readonly tlsUrl: string;
}

/** A real Redis on loopback that keeps nothing. */
export async function startRedis(options: RedisOptions = {}): Promise<RedisStore> {
  const command = redisExecutable();
  const directory = await mkdtemp(join(tmpdir(), 'tessera-redis-'));
  const port = options.port ?? (await freePort());
  const tlsPort = options.tls === undefined ? 0 : await freePort();
  const server = holdProcess({
    command,
    args: [
      '--port',
      `${port}`,
      '--bind',
      '127.0.0.1',
      '--save',
      '',
      '--appendonly',
      'no',
      '--dir',
      directory,
      ...(options.tls === undefined ? [] : tlsArguments(options.tls, tlsPort)),
      ...(options.args ?? []),
    ],
    directory,
    signal: options.signal ?? 'TERM',
  });
  await server.until(() => ping(port));
  return {
    url: `redis://127.0.0.1:${port}/0`,
    tlsUrl: tlsPort === 0 ? '' : `rediss://127.0.0.1:${tlsPort}/0`,
    origin: command,
    stop: () => server.stop(),
  };
}

export function tlsArguments({ ca, cert, key }: RedisTlsFiles, port: number): string[] {
  const settings = {
    'tls-port': port,
    'tls-ca-cert-file': ca,
    'tls-cert-file': cert,
    'tls-key-file': key,
    'tls-replication': 'yes',
    'tls-cluster': 'yes',
  };
  return Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
}

export function ping(port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write('PING\r\n'));
    socket.once('error', reject);
    socket.once('data', (answer) => {
      socket.destroy();
      // One that asks for a password first is there as well.
      if (/^(\+PONG|-NOAUTH)/.test(answer.toString())) resolve();
      else reject(new Error('not ready'));
    });
  });
}
