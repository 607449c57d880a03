import { Cluster, Redis, type RedisOptions as ClientOptions } from 'ioredis';
import type { Secret } from '@tessera/kit';
import type { RedisTarget } from './redis-url.ts';
import { tolerateSecondErrors } from './tls-sockets.ts';

/** Certificates for TLS to Redis, in PEM. */
export interface RedisTls {
  /** The authority that signs the certificates of Redis; by default the authorities of the system. */
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

/** A client of Redis, whatever its shape. Not connected yet. */
export interface RedisConnection {
  readonly client: Redis | Cluster;
  /** Called with each server that is connected to, before it is. */
  onNode(listener: (node: Redis) => void): void;
  /** Called with the errors of the connections. */
  onError(listener: (error: Error) => void): void;
  /** The servers that take commands; empty while they are not known. */
  nodes(): readonly Redis[];
  end(): void;
}

export function createConnection(settings: ClientSettings): RedisConnection {
  if (settings.target.tls) tolerateSecondErrors();
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
    enableAutoPipelining: true,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    retryStrategy: retryDelay,
  });
  let ended = false;
  // The library gives up if it is disconnected while it connects.
  client.on('end', () => {
    setTimeout(() => {
      if (!ended) client.connect().catch(() => undefined);
    }, retryDelay(1));
  });
  return {
    client,
    onError(listener) {
      const report = async (error: Error) => {
        listener((await hiddenReason(error, settings)) ?? error);
      };
      client.on('error', (error) => void report(error));
    },
    onNode: (listener) => listener(client),
    nodes: () => [client],
    end() {
      ended = true;
      client.disconnect();
    },
  };
}

/**
 * The masters of a cluster. A command is sent again only if a node redirects it, because that node did nothing. Without
 * auto-pipelining: the library does not follow the redirection of a single command within a pipeline.
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

/** Options of every connection to Redis. */
function nodeOptions(settings: ClientSettings) {
  const { target, commandTimeoutMs } = settings;
  return {
    ...(target.password === undefined
      ? {}
      : { username: target.username ?? 'default', password: target.password }),
    ...firstReplyIsReported,
    commandTimeout: commandTimeoutMs,
    connectTimeout: connectTimeout(commandTimeoutMs),
    // Closes the connection to a server that hangs, so that further calls fail at once.
    socketTimeout: commandTimeoutMs * 4,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    ...tlsOptions(settings),
  } satisfies ClientOptions;
}

/**
 * A Redis that refuses a connection says why in its only reply. It must reach a command whose error the library
 * reports, which HELLO and CLIENT SETINFO are not.
 */
const firstReplyIsReported = { protocol: 2, disableClientInfo: true } satisfies ClientOptions;

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
    sentinelReconnectStrategy: retryDelay,
    sentinelCommandTimeout: connectTimeout(commandTimeoutMs),
    // Leaves a master that was replaced, even if it still answers.
    failoverDetector: true,
    // Asks only the configured Sentinels: those are reachable and have the expected certificates.
    updateSentinels: false,
    ...(sentinelPassword === undefined ? {} : { sentinelPassword: sentinelPassword.reveal() }),
    ...(tls === undefined ? {} : { sentinelTLS: tls, enableTLSForSentinelMode: true }),
  } satisfies ClientOptions;
}

/** The reason of an error that the library reports without it; undefined if there is no other. */
async function hiddenReason(error: Error, settings: ClientSettings): Promise<Error | undefined> {
  const { target, sentinelPassword } = settings;
  if (error.message.startsWith('All sentinels are unreachable')) {
    const password = sentinelPassword === undefined ? {} : { password: sentinelPassword.reveal() };
    return connectionError(settings, { ...password, enableReadyCheck: false });
  }
  // The library takes what protected mode replies to AUTH for a warning. Without a password the reply is an error.
  if (target.shape !== 'single' || target.password === undefined || !('code' in error)) return undefined;
  if (error.code !== 'EPIPE' && error.code !== 'ECONNRESET') return undefined;
  const reason = await connectionError(settings, firstReplyIsReported);
  return reason?.message.startsWith('DENIED') ? reason : undefined;
}

/** The error of one connection to the first address; undefined if there is none. */
async function connectionError(
  settings: ClientSettings,
  options: Partial<typeof firstReplyIsReported> & {
    readonly password?: string;
    readonly enableReadyCheck?: boolean;
  },
): Promise<Error | undefined> {
  const probe = new Redis({
    ...settings.target.addresses[0],
    ...tlsOptions(settings),
    ...options,
    connectTimeout: connectTimeout(settings.commandTimeoutMs),
    lazyConnect: true,
    retryStrategy: () => null,
  });
  let reason: Error | undefined;
  probe.on('error', (error) => (reason ??= error));
  await probe.connect().catch(() => undefined);
  probe.disconnect();
  return reason;
}
