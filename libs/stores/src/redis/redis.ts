import { createHash } from 'node:crypto';
import { exists, getKeyIndexes } from '@ioredis/commands';
import type { Logger } from 'pino';
import { temporarilyUnavailable } from '@tessera/oauth';
import { Secret, within } from '@tessera/kit';
import { metrics } from '@tessera/telemetry';
import { createConnection } from './redis-client.ts';
import type { ClientSettings, RedisConnection, RedisTls } from './redis-client.ts';
import { createRedisGuard, type RedisGuard } from './redis-guard.ts';
import { parseRedisUrl } from './redis-url.ts';
import { explainTls } from '../tls-errors.ts';
import { translateRedisError } from './redis-errors.ts';

export type RedisArgument = string | number | Buffer;

/**
 * The one view of Redis that services have. Every command fails within twice the time-out (ADR 30); trouble is thrown
 * as the `temporarily_unavailable` OAuthError. Keys are given without prefix; the handle adds the deployment's.
 */
export interface RedisHandle {
  /** A Lua script as a function; one round trip (EVALSHA, EVAL on a miss). */
  script(source: {
    readonly name: string;
    readonly lua: string;
  }): (keys: readonly string[], args: readonly RedisArgument[]) => Promise<unknown>;
  /** One command, for example `call('SET', key, value, 'PX', 1000)`. */
  call(command: string, ...args: RedisArgument[]): Promise<unknown>;
  /** Whether a script reaches keys of several hash slots: not in a cluster. */
  readonly spansSlots: boolean;
  close(): Promise<void>;
}

export interface RedisOptions {
  /** One of the forms of `parseRedisUrl`. */
  readonly url: Secret | string;
  readonly tls?: RedisTls;
  /** What the Sentinels themselves ask for; the password in the URL is that of Redis. */
  readonly sentinelPassword?: Secret | undefined;
  readonly keyPrefix?: string;
  readonly commandTimeoutMs?: number;
  /** How long opening waits for Redis before it goes on without. */
  readonly openTimeoutMs?: number;
  readonly log?: Logger;
}

/** Commands that may await their replies; more are refused at once. */
const maxInFlight = 10_000;

/**
 * Opens one connection that comes back by itself. An unavailable Redis does not keep the process from starting: calls
 * fail with `temporarily_unavailable` until it is back, and are never queued or sent twice.
 * @throws Error when Redis may evict keys, as its `maxmemory-policy` must be `noeviction`, or does not give the
 * database of the URL.
 */
export async function openRedis(options: RedisOptions): Promise<RedisHandle> {
  const { keyPrefix = '', commandTimeoutMs = 250, openTimeoutMs = 2000, log } = options;
  const settings: ClientSettings = {
    target: parseRedisUrl(options.url instanceof Secret ? options.url.reveal() : options.url),
    tls: options.tls ?? {},
    sentinelPassword: options.sentinelPassword,
    commandTimeoutMs,
  };
  const connection = createConnection(settings);
  const guard = createRedisGuard(settings.target.database, log);
  connection.onNode((node) => guard.watch(node));
  const watched = watch(connection, log);
  function end(): void {
    watched.end();
    connection.end();
  }
  try {
    if (!(await opened(connection, guard, openTimeoutMs)))
      log?.warn({ err: watched.reason() }, 'Redis is not reachable; continuing without it until it is');
  } catch (error) {
    end();
    throw error;
  }

  let inFlight = 0;
  const unmeasure = [
    metrics.gauge({ name: 'tessera_redis_connected', help: 'Connections to Redis that are ready.' }, () => [
      { value: connection.nodes().filter((node) => node.status === 'ready').length },
    ]),
    metrics.gauge({ name: 'tessera_redis_commands', help: 'Commands that await their replies.' }, () => [
      { value: inFlight },
    ]),
  ];
  async function guarded<T>(work: () => Promise<T>): Promise<T> {
    const refusal =
      guard.refusal() ??
      (guard.awaitsDatabase() ? 'Redis has not confirmed its database yet.' : undefined) ??
      (inFlight >= maxInFlight ? 'Too many commands await Redis.' : undefined);
    if (refusal !== undefined) throw temporarilyUnavailable(new Error(refusal));
    inFlight += 1;
    try {
      return await work();
    } catch (error) {
      throw translateRedisError(watched.reason() ?? error);
    } finally {
      inFlight -= 1;
    }
  }

  const { client } = connection;
  const prefixed = (key: string): string =>
    settings.target.shape === 'cluster' ? `${keyPrefix}${slotOf(key)}${key}` : keyPrefix + key;

  return {
    script({ lua }) {
      const sha = createHash('sha1').update(lua).digest('hex');
      return (keys, args) =>
        guarded(async () => {
          const rest = [keys.length, ...keys.map(prefixed), ...args];
          try {
            return await client.call('evalsha', sha, ...rest);
          } catch (error) {
            if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
            return client.call('eval', lua, ...rest);
          }
        });
    },
    call: (command, ...args) => guarded(() => client.call(command, ...withPrefix(command, args, prefixed))),
    spansSlots: settings.target.shape !== 'cluster',
    async close() {
      for (const stop of unmeasure) stop();
      end();
    },
  };
}

/** The arguments of a command, its keys with their prefix. */
function withPrefix(
  command: string,
  args: readonly RedisArgument[],
  prefixed: (key: string) => string,
): RedisArgument[] {
  const isKnown = exists(command, { caseInsensitive: true });
  const keys = isKnown ? getKeyIndexes(command, [...args], { nameCaseInsensitive: true }) : [];
  return args.map((argument, index) => (keys.includes(index) ? prefixed(String(argument)) : argument));
}

/**
 * The hash tag of a key in a cluster, where a script can only reach keys of one slot. The keys of a service share a
 * slot, as its scripts follow references between records. The two counters of a limit share one of their own.
 */
function slotOf(key: string): string {
  const [service = '', family, rule, name] = key.split(':', 4);
  return family === 'limit' ? `{${rule ?? ''}:${name ?? ''}}` : `{${service}}`;
}

/**
 * Waits until every server that is to take commands is connected and checked.
 * @returns whether they were within the time.
 */
async function opened(connection: RedisConnection, guard: RedisGuard, timeoutMs: number): Promise<boolean> {
  const whole = new Promise<void>((resolve) => {
    const look = () => {
      const nodes = connection.nodes();
      if (nodes.length > 0 && nodes.every((node) => guard.knows(node))) resolve();
    };
    guard.onChecked(look);
    connection.client.on('ready', look);
  });
  connection.client.connect().catch(() => undefined);
  const isWhole = await within(timeoutMs, whole).then(
    () => true,
    () => false,
  );
  const refusal = guard.refusal();
  if (refusal !== undefined) throw new Error(refusal);
  return isWhole;
}

/** Writes one line when the connection is lost and one when it is back, however many attempts lie between. */
function watch({ client, nodes, onNode, onError }: RedisConnection, log: Logger | undefined) {
  let ended = false;
  let lost = false;
  let reason: unknown;
  // What follows a certificate that was refused only says that the connection is closed.
  let certificate: unknown;
  onError((error) => {
    const explained = explainTls(error, 'Put it into TESSERA_REDIS_TLS_DIR as ca.crt.');
    if (explained === error) reason = error;
    else certificate = explained;
  });
  client.on('close', () => {
    if (lost || ended) return;
    lost = true;
    log?.warn({ err: certificate ?? reason }, 'lost the connection to Redis');
  });
  client.on('ready', () => {
    if (lost) log?.info('reconnected to Redis');
    lost = false;
    reason = undefined;
    certificate = undefined;
  });
  onNode((node) => {
    if (!client.isCluster) return;
    // Attempts that fail are many, and the driver leaves nodes that it has no use for by itself: those are gone
    // already.
    node.once('ready', () => {
      node.once('close', () => {
        const { host, port } = node.options;
        if (!ended && nodes().includes(node))
          log?.warn({ host, port }, 'lost the connection to a node of the Redis cluster');
      });
    });
  });
  return {
    /** Why there is no connection; undefined while there is one, or when that is not known. */
    reason: (): unknown => (client.status === 'ready' ? undefined : (certificate ?? reason)),
    end(): void {
      ended = true;
    },
  };
}
