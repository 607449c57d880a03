import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { eventually, freePort } from '@tessera/test-kit/provision';
import {
  CuttableProxy,
  newKeys,
  peersOf,
  services,
  sharedToken,
  timesApplied,
  type Environment,
} from '@tessera/test-client';
import { Balancer } from './balancer.ts';
import { declaredState, type StateOptions } from './declared-state.ts';
import { Replica } from './replica.ts';

export interface ClusterOptions {
  readonly topology: 'split' | 'compact';
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly webhookUrl: string;
  /** Another checkout that every process starts from; absent: this one. */
  readonly root?: string | undefined;
  /** Modules that every process loads first. */
  readonly preload?: readonly string[] | undefined;
  /** In split, whether processes for administration run too; compact serves it always. */
  readonly administration?: boolean | undefined;
  /** Services whose callers go through proxies that can be cut. */
  readonly behind?: readonly string[] | undefined;
}

export const retryWindowMs = 60_000;

/** Limits high enough for all clients at one address, and intervals short enough for a run of a minute. */
const forChaos: Environment = {
  TESSERA_LOG_LEVEL: 'info',
  TESSERA_AUTHORIZE_REQUESTS_PER_ADDRESS: '1000000',
  TESSERA_AUTHORIZATION_PENDING_PER_ADDRESS: '100000',
  TESSERA_LOGIN_FAILURES_PER_ACCOUNT: '1000000',
  TESSERA_LOGIN_FAILURES_PER_ADDRESS: '1000000',
  TESSERA_CIBA_REQUESTS_PER_USER: '1000000',
  TESSERA_DEVICE_POLL_INTERVAL: '1s',
  TESSERA_REFRESH_RETRY_WINDOW: `${retryWindowMs / 1000}s`,
  // Clients send the request id under which the audit trail shows an attempt.
  TESSERA_TRUSTED_PROXIES: '127.0.0.1/32',
  TESSERA_DRAIN_PAUSE: '1s',
  TESSERA_KEYS_RELOAD_INTERVAL: '250ms',
  TESSERA_ALLOW_PRIVATE: 'webhooks',
};

interface Served {
  readonly service: string;
}
const isFront = ({ service }: Served) => service === 'gateway' || service === 'standalone';
const administers = ({ service }: Served) => service === 'admin' || service === 'standalone';

/** Two replicas of every process on one set of stores, behind one address. */
export type Cluster = Awaited<ReturnType<typeof planCluster>>;

export async function planCluster(options: ClusterOptions) {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-chaos-'));
  const { replicas, networks, balancer, rpcToken } = await planReplicas(options, directory);
  const declare = async (leaverStatus: StateOptions['leaverStatus']): Promise<void> => {
    const { webhookUrl } = options;
    await writeFile(join(directory, 'state.yaml'), declaredState({ leaverStatus, webhookUrl }));
  };
  const clear = async (): Promise<void> => {
    await balancer.stop();
    for (const network of networks.values()) await network.stop();
    await rm(directory, { recursive: true, force: true });
  };
  const introspectionPorts = replicas
    .filter(({ service }) => service === 'token' || service === 'standalone')
    .map(({ rpcPort }) => `127.0.0.1:${rpcPort}`);
  return {
    replicas,
    /** By the name of the replica behind it. */
    networks,
    url: balancer.url,
    rpcToken,
    /** Those that serve HTTP. */
    fronts: replicas.filter(isFront),
    /** Those that serve administration. */
    administrators: replicas.filter(administers),
    /** The service that answers introspection over gRPC. */
    introspectionTarget: `ipv4:${introspectionPorts.join(',')}`,

    async start(): Promise<void> {
      await declare('active');
      // The first replica of each creates schemas, keys and module caches for the second.
      for (const half of [0, 1]) {
        const started = replicas.filter((_replica, at) => at % 2 === half);
        for (const replica of started) replica.start();
        await Promise.all(started.map(async (replica) => replica.ready()));
      }
    },

    /** Disables the leavers; resolves once the directory has committed it. */
    async disableLeavers(): Promise<void> {
      const owner = replicas.find(({ service }) => service === 'directory' || service === 'standalone');
      if (owner === undefined) throw new Error('no process holds the directory');
      const before = timesApplied(owner.output);
      await declare('disabled');
      owner.reload();
      const isApplied = async () => timesApplied(owner.output) > before;
      await eventually('the declared state is applied', isApplied, 15_000);
    },

    output: (): string => replicas.map(({ output }) => output).join(''),

    /** Stops every process, gracefully if possible; never throws. */
    async stop(): Promise<void> {
      await Promise.all(replicas.map(async (replica) => replica.stop().catch(() => undefined)));
      await clear();
    },

    /** Kills every process. */
    async kill(): Promise<void> {
      await Promise.all(replicas.map(async (replica) => replica.kill()));
      await clear();
    },
  };
}

/** Processes at free ports, which know one another; their balancer runs. */
async function planReplicas(options: ClusterOptions, directory: string) {
  const trust = sharedToken();
  const administration = options.administration === true ? ['admin'] : [];
  const apps = options.topology === 'split' ? [...services, ...administration] : ['standalone'];
  const places = await Promise.all(
    apps.flatMap((service) =>
      [0, 1].map(async (at) => ({
        service,
        at,
        ports: {
          http: await freePort(),
          rpc: await freePort(),
          management: await freePort(),
          admin: await freePort(),
        },
      })),
    ),
  );
  const gateways = places.filter(isFront);
  const balancer = new Balancer(
    gateways.map(({ ports: { http, management } }) => ({ httpPort: http, managementPort: management })),
  );
  await balancer.start();
  const networks = new Map<string, CuttableProxy>();
  for (const { service, at, ports } of places) {
    if (options.behind?.includes(service) !== true) continue;
    const network = new CuttableProxy('127.0.0.1', ports.rpc);
    await network.start();
    networks.set(`${service}-${at + 1}`, network);
  }
  const addressOf = ({ service, at, ports }: (typeof places)[number]): string =>
    `127.0.0.1:${networks.get(`${service}-${at + 1}`)?.port ?? ports.rpc}`;
  const peers = peersOf((name) => {
    const replicated = places.filter(({ service }) => service === name);
    return `ipv4:${replicated.map(addressOf).join(',')}`;
  });
  const common: Environment = {
    ...forChaos,
    ...(options.topology === 'split' ? peers : {}),
    ...trust,
    ...newKeys(),
    DATABASE_URL: options.databaseUrl,
    REDIS_URL: options.redisUrl,
    TESSERA_ISSUER: balancer.url,
    TESSERA_APPLY_FILE: join(directory, 'state.yaml'),
    TESSERA_DATA_DIR: join(directory, 'data'),
    TESSERA_WEBHOOK_KEY: randomBytes(32).toString('base64url'),
    TESSERA_HTTP_HOST: '127.0.0.1',
    // Processes start often on a shared machine: Node's compile cache is kept.
    NODE_COMPILE_CACHE: join(directory, 'modules'),
    NODE_OPTIONS: (options.preload ?? []).map((file) => `--import ${pathToFileURL(file).href}`).join(' '),
  };
  const replicas = places.map(({ service, at, ports }) => {
    const environment = {
      ...common,
      TESSERA_HTTP_PORT: String(ports.http),
      TESSERA_MANAGEMENT_PORT: String(ports.management),
      [service === 'standalone' ? 'TESSERA_INTROSPECTION_PORT' : 'TESSERA_RPC_PORT']: String(ports.rpc),
      ...(administers({ service }) ? { TESSERA_ADMIN_PORT: String(ports.admin) } : {}),
    };
    return new Replica(service, at, ports, environment, options.root);
  });
  return { replicas, networks, balancer, rpcToken: trust['TESSERA_RPC_TOKEN'] ?? '' };
}
