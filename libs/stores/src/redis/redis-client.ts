import type { Socket } from 'node:net';
import { Cluster, Redis } from 'ioredis';
import type { RedisOptions as ClientOptions } from 'ioredis';
import type { Secret } from '@tessera/kit';
import type { RedisTarget } from './redis-url.ts';

/** What Redis is met with over TLS, in PEM. */
export interface RedisTls {
  /** Who signs its certificates; the authorities of the system unless given. */
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: Secret | undefined;
}

export interface ClientSettings {
  readonly target: RedisTarget;
  readonly tls: RedisTls;
  readonly sentinelPassword: Secret | undefined;
  readonly commandTimeoutMs: number;
}

/** Milliseconds until the next attempt to connect: soon at first, at most about a second. */
const retryDelay = (attempt: number): number =>
  Math.min(50 * 2 ** Math.min(attempt, 5), 1000) + Math.random() * 100;

/**
 * The driver listens for one error of a socket, and one with TLS may have two, the second of which would end the process
 * (https://github.com/redis/ioredis/pull/962). So a socket that had one gets a listener for what follows. This stands on
 * the prototype because the driver makes further clients by itself, to ask Sentinels and the nodes of a cluster.
 */
const silentEmit = Reflect.get(Redis.prototype, 'silentEmit');
Redis.prototype.silentEmit = function outlive(this: Redis, event, value) {
  const stream: Socket | undefined = this.stream;
  if (event === 'error') stream?.on('error', () => undefined);
  return silentEmit.call(this, event, value);
};

/** A way to Redis, whatever its shape. Not connected yet. */
export interface RedisConnection {
  readonly client: Redis | Cluster;
  /** Called with each server that is connected to, before it is. */
  onNode(listener: (node: Redis) => void): void;
  /** Called with what goes wrong on the way to the servers, and to Sentinels. */
  onError(listener: (error: Error) => void): void;
  /** The servers that are to take commands; empty when it is not known which. */
  nodes(): readonly Redis[];
  end(): void;
}

export function createConnection(settings: ClientSettings): RedisConnection {
  return settings.target.shape === 'cluster' ? clusterConnection(settings) : singleConnection(settings);
}

/** One server, or the master that Sentinels name. */
function singleConnection(settings: ClientSettings): RedisConnection {
  const { target } = settings;
  const client = new Redis({
    ...nodeOptions(settings),
    ...(target.shape === 'sentinel' ? sentinelOptions(settings) : target.addresses[0]),
    db: target.database,
    lazyConnect: true,
    enableOfflineQueue: false,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    retryStrategy: retryDelay,
  });
  let ended = false;
  // The client gives up when it is told to leave while it connects.
  client.on('end', () => {
    setTimeout(() => {
      if (!ended) client.connect().catch(() => undefined);
    }, retryDelay(1));
  });
  const sentinels = target.shape === 'sentinel' ? watchMaster(client, settings) : [];
  return {
    client,
    onError(listener) {
      for (const sentinel of sentinels) sentinel.on('error', listener);
      client.on('error', (error) => {
        // The Sentinels say why.
        if (!error.message.startsWith('All sentinels are unreachable')) listener(error);
      });
    },
    onNode: (listener) => listener(client),
    nodes: () => [client],
    end() {
      ended = true;
      for (const each of [client, ...sentinels]) each.disconnect();
    },
  };
}

/**
 * The masters of a cluster. A command that comes to the wrong node is sent to the right one, which is the only case in
 * which it is sent again: the node that refused it did nothing.
 */
function clusterConnection(settings: ClientSettings): RedisConnection {
  const client = new Cluster([...settings.target.addresses], {
    lazyConnect: true,
    enableOfflineQueue: false,
    // Nodes are connected to at once, see below, and are not ready when this check would ask one of them.
    enableReadyCheck: false,
    redisOptions: nodeOptions(settings),
    maxRedirections: 3,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    retryDelayOnTryAgain: 10,
    slotsRefreshTimeout: connectTimeout(settings.commandTimeoutMs),
    slotsRefreshInterval: 5000,
    clusterRetryStrategy: retryDelay,
    // The names that were given stay names, for the sake of certificates.
    dnsLookup: (hostname, done) => done(null, hostname),
  });
  // A node that waits for its first command would queue it, and send it after the caller has given up.
  client.on('+node', (node: Redis) => void node.connect().catch(() => undefined));
  return {
    client,
    onNode: (listener) => void client.on('+node', listener),
    onError(listener) {
      // The cluster itself only says that no node answered.
      client.on('error', () => undefined);
      client.on('+node', (node: Redis) => void node.on('error', listener));
    },
    nodes: () => (client.status === 'ready' ? client.nodes('master') : []),
    end: () => client.disconnect(),
  };
}

/** What holds for every connection to a Redis. */
function nodeOptions(settings: ClientSettings) {
  const { target, commandTimeoutMs } = settings;
  return {
    ...(target.username === undefined ? {} : { username: target.username }),
    ...(target.password === undefined ? {} : { password: target.password }),
    commandTimeout: commandTimeoutMs,
    connectTimeout: connectTimeout(commandTimeoutMs),
    // A server that hangs is left, so that calls fail at once instead of after the time-out.
    socketTimeout: commandTimeoutMs * 4,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    ...tlsOptions(settings),
  } satisfies ClientOptions;
}

const connectTimeout = (commandTimeoutMs: number): number => Math.max(1000, commandTimeoutMs * 4);

/** `tls` where the URL asks for it. */
function tlsOptions({ target, tls: { ca, cert, key } }: ClientSettings) {
  if (!target.tls) return {};
  return {
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined || key === undefined ? {} : { cert, key: key.reveal() }),
    },
  } satisfies ClientOptions;
}

function sentinelOptions(settings: ClientSettings) {
  const { target, sentinelPassword, commandTimeoutMs } = settings;
  const { tls } = tlsOptions(settings);
  return {
    sentinels: [...target.addresses],
    name: target.masterName,
    sentinelRetryStrategy: retryDelay,
    sentinelCommandTimeout: connectTimeout(commandTimeoutMs),
    // Those that were named are asked and no others: they are the ones that can be reached and have the certificates.
    updateSentinels: false,
    ...(sentinelPassword === undefined ? {} : { sentinelPassword: sentinelPassword.reveal() }),
    ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
  } satisfies ClientOptions;
}

/**
 * Leaves a master that its Sentinels have replaced, also one that still answers. The client asks the Sentinels who the
 * master is whenever it connects; this tells it when to.
 * @returns the connections to the Sentinels, which whoever asked for them ends.
 */
function watchMaster(client: Redis, settings: ClientSettings): Redis[] {
  const { target, sentinelPassword, commandTimeoutMs } = settings;
  let last: string | undefined;
  return target.addresses.map((address) => {
    const sentinel = new Redis({
      ...address,
      ...tlsOptions(settings),
      ...(sentinelPassword === undefined ? {} : { password: sentinelPassword.reveal() }),
      connectTimeout: connectTimeout(commandTimeoutMs),
      enableReadyCheck: false,
      autoResubscribe: false,
      retryStrategy: (attempt) => retryDelay(attempt) * 5,
    });
    // One that is away is tried again, and the others tell the same.
    sentinel.on('error', () => undefined);
    sentinel.on('message', (_channel: string, message: string) => {
      if (!message.startsWith(`${target.masterName} `) || message === last) return;
      last = message;
      if (client.status === 'ready') client.disconnect(true);
    });
    sentinel.on('ready', () => {
      sentinel.subscribe('+switch-master').catch(() => undefined);
    });
    return sentinel;
  });
}
