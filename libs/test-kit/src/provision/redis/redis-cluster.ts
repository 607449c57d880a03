import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { freePort, type Store } from '../held-process.ts';
import { startRedis } from './start-redis.ts';
import type { RedisStore, RedisTlsFiles } from './start-redis.ts';

/** Three masters that share the slots, and a replica of each where wanted. */
export interface RedisCluster extends Store {
  /** `redis+cluster://`, or `rediss+cluster://` with TLS, which names the masters. */
  readonly url: string;
  readonly masters: readonly Store[];
  readonly replicas: readonly Store[];
}

export interface RedisClusterOptions {
  readonly replicas?: boolean;
  /** Absent: without TLS. */
  readonly tls?: RedisTlsFiles;
}

const slots = 16_384;
const shards = 3;

export async function startRedisCluster(options: RedisClusterOptions = {}): Promise<RedisCluster> {
  const { tls } = options;
  const started: Store[] = [];
  const clients: Redis[] = [];
  const stop = async () => void (await Promise.all(started.map((each) => each.stop())));
  async function startNode(): Promise<Node> {
    const busPort = await freePort();
    const args = [
      '--cluster-enabled',
      'yes',
      '--cluster-port',
      `${busPort}`,
      '--cluster-node-timeout',
      '1000',
    ];
    const store = await startRedis({ signal: 'KILL', args, ...(tls === undefined ? {} : { tls }) });
    started.push(store);
    const client = new Redis(store.url);
    clients.push(client);
    return { store, client, busPort };
  }
  try {
    const masters = [await startNode(), await startNode(), await startNode()];
    const replicas = options.replicas === true ? await Promise.all(masters.map(() => startNode())) : [];
    await join(masters, replicas);
    const hosts = masters.map(({ store }) => new URL(tls === undefined ? store.url : store.tlsUrl).host);
    return {
      url: `redis${tls === undefined ? '' : 's'}+cluster://${hosts.join(',')}`,
      origin: masters[0]?.store.origin ?? '',
      masters: masters.map(({ store }) => store),
      replicas: replicas.map(({ store }) => store),
      stop,
    };
  } catch (error) {
    await stop();
    throw error;
  } finally {
    for (const client of clients) client.disconnect();
  }
}

interface Node {
  readonly store: RedisStore;
  readonly client: Redis;
  readonly busPort: number;
}

async function join(masters: readonly Node[], replicas: readonly Node[]): Promise<void> {
  for (const [index, { client }] of masters.entries()) {
    await client.call('CLUSTER', 'SET-CONFIG-EPOCH', index + 1);
    const from = Math.ceil((slots * index) / shards);
    const to = Math.ceil((slots * (index + 1)) / shards) - 1;
    await client.call('CLUSTER', 'ADDSLOTSRANGE', from, to);
  }
  const nodes = [...masters, ...replicas];
  const [first, ...others] = nodes;
  for (const { store, busPort } of others)
    await first?.client.call(
      'CLUSTER',
      'MEET',
      '127.0.0.1',
      new URL(store.tlsUrl || store.url).port,
      busPort,
    );
  const met = `cluster_known_nodes:${nodes.length}`;
  await until(nodes, async ({ client }) => String(await client.call('CLUSTER', 'INFO')).includes(met));
  for (const [index, { client }] of replicas.entries())
    await client.call('CLUSTER', 'REPLICATE', String(await masters[index]?.client.call('CLUSTER', 'MYID')));
  const whole = /cluster_state:ok[^]*cluster_size:3/;
  await until(nodes, async ({ client }) => whole.test(String(await client.call('CLUSTER', 'INFO'))));
  const linked = 'master_link_status:up';
  await until(replicas, async ({ client }) => (await client.info('replication')).includes(linked));
}

/** Waits until it is so of each node; what one knows spreads to the others within seconds. */
async function until(nodes: readonly Node[], isSo: (node: Node) => Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 30_000;
  for (const node of nodes) {
    while (!(await isSo(node))) {
      if (Date.now() > deadline) throw new Error('The nodes of the Redis cluster did not find each other.');
      await sleep(50);
    }
  }
}
