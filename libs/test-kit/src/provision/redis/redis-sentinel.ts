import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, holdProcess, type Store } from '../held-process.ts';
import { ping, redisExecutable, startRedis, tlsArguments } from './start-redis.ts';
import type { RedisTlsFiles } from './start-redis.ts';

/** A master with a replica, watched by three Sentinels that replace it within about a second. */
export interface ReplicatedRedis extends Store {
  /** `redis+sentinel://`, or `rediss+sentinel://` with TLS. */
  readonly url: string;
  readonly masterName: string;
  /** The two servers, the first of which begins as the master. */
  readonly servers: readonly [Store, Store];
  readonly sentinels: readonly Store[];
}

const masterName = 'main';
const quorum = 2;

export interface ReplicatedRedisOptions {
  /** Plain ports stay open in addition to those for TLS, for the tests themselves. */
  readonly tls?: RedisTlsFiles;
  /** What the servers and the Sentinels ask for, each of its own. */
  readonly passwords?: { readonly redis: string; readonly sentinel: string };
}

export async function startReplicatedRedis(options: ReplicatedRedisOptions = {}): Promise<ReplicatedRedis> {
  const { tls, passwords } = options;
  const started: Store[] = [];
  const stop = async () => void (await Promise.all(started.map((each) => each.stop())));
  async function kept<S extends Store>(starting: Promise<S>): Promise<S> {
    const store = await starting;
    started.push(store);
    return store;
  }
  try {
    // A server that is killed is one that a failover is for; in order, it would hand over its data first.
    const server = { signal: 'KILL', ...(tls === undefined ? {} : { tls }) } as const;
    const secret =
      passwords === undefined ? [] : ['--requirepass', passwords.redis, '--masterauth', passwords.redis];
    const master = await kept(startRedis({ ...server, args: secret }));
    const { port } = new URL(master.tlsUrl || master.url);
    const args = ['--replicaof', '127.0.0.1', port, '--repl-diskless-sync-delay', '0', ...secret];
    const replica = await kept(startRedis({ ...server, args }));
    const sentinels = [];
    for (let i = 0; i < 3; i += 1) sentinels.push(await kept(startSentinel(Number(port), options)));
    const hosts = sentinels.map(({ url }) => new URL(url).host).join(',');
    const url = `redis${tls === undefined ? '' : 's'}+sentinel://${hosts}/${masterName}`;
    return { url, origin: master.origin, masterName, servers: [master, replica], sentinels, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startSentinel(masterPort: number, { tls, passwords }: ReplicatedRedisOptions): Promise<Store> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-sentinel-'));
  const port = await freePort();
  const command = redisExecutable();
  const file = join(directory, 'sentinel.conf');
  const tlsPort = tls === undefined ? 0 : await freePort();
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    'protected-mode no',
    `dir ${directory}`,
    `sentinel monitor ${masterName} 127.0.0.1 ${masterPort} ${quorum}`,
    `sentinel down-after-milliseconds ${masterName} 500`,
    `sentinel failover-timeout ${masterName} 3000`,
    ...(passwords === undefined
      ? []
      : [
          `sentinel auth-pass ${masterName} ${passwords.redis}`,
          `requirepass ${passwords.sentinel}`,
          `sentinel sentinel-pass ${passwords.sentinel}`,
        ]),
  ];
  await writeFile(file, lines.join('\n'));
  const secure = tls === undefined ? [] : tlsArguments(tls, tlsPort);
  const server = holdProcess({
    command,
    args: [file, '--sentinel', ...secure],
    directory,
    signal: 'TERM',
  });
  await server.until(() => ping(port));
  return {
    url: tls === undefined ? `redis://127.0.0.1:${port}` : `rediss://127.0.0.1:${tlsPort}`,
    origin: command,
    stop: () => server.stop(),
  };
}
