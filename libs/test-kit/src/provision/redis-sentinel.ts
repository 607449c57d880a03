import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort, holdProcess } from './held-process.ts';
import { ping, redisExecutable, startRedis } from './redis.ts';
import type { Store } from './stores.ts';

/** A master with a replica, watched by three Sentinels that replace it within about a second. */
export interface ReplicatedRedis extends Store {
  /** `redis+sentinel://`, which is `url` as well. */
  readonly url: string;
  readonly masterName: string;
  /** The two servers, the first of which begins as the master. */
  readonly servers: readonly [Store, Store];
  readonly sentinels: readonly Store[];
}

const masterName = 'main';
const quorum = 2;

export async function startReplicatedRedis(): Promise<ReplicatedRedis> {
  const started: Store[] = [];
  const stop = async () => void (await Promise.all(started.map((each) => each.stop())));
  const kept = async (starting: Promise<Store>): Promise<Store> => {
    const store = await starting;
    started.push(store);
    return store;
  };
  try {
    // A server that is killed is one that a failover is for; in order, it would hand over its data first.
    const master = await kept(startRedis({ signal: 'KILL' }));
    const { port } = new URL(master.url);
    const replica = await kept(
      startRedis({
        signal: 'KILL',
        args: ['--replicaof', '127.0.0.1', port, '--repl-diskless-sync-delay', '0'],
      }),
    );
    const sentinels = [];
    for (let i = 0; i < 3; i += 1) sentinels.push(await kept(startSentinel(Number(port))));
    const hosts = sentinels.map(({ url }) => new URL(url).host).join(',');
    const url = `redis+sentinel://${hosts}/${masterName}`;
    return { url, origin: master.origin, masterName, servers: [master, replica], sentinels, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startSentinel(masterPort: number): Promise<Store> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-sentinel-'));
  const port = await freePort();
  const command = redisExecutable();
  const file = join(directory, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    'bind 127.0.0.1',
    'protected-mode no',
    `dir ${directory}`,
    `sentinel monitor ${masterName} 127.0.0.1 ${masterPort} ${quorum}`,
    `sentinel down-after-milliseconds ${masterName} 500`,
    `sentinel failover-timeout ${masterName} 3000`,
  ];
  await writeFile(file, lines.join('\n'));
  const server = holdProcess({ command, args: [file, '--sentinel'], directory, signal: 'TERM' });
  await server.until(() => ping(port));
  return { url: `redis://127.0.0.1:${port}`, origin: command, stop: () => server.stop() };
}
