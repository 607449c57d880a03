import { createHash } from 'node:crypto';
import { Command } from 'ioredis';
import type { Logger } from 'pino';
import { temporarilyUnavailable } from '@tessera/oauth';
import { Secret } from '@tessera/kit';
import { metrics } from '@tessera/telemetry';
import { createConnection } from './redis-client.ts';
import type { ClientSettings, RedisConnection, RedisTls } from './redis-client.ts';
import { createPolicyGuard } from './redis-policy.ts';
import type { PolicyGuard } from './redis-policy.ts';
import { parseRedisUrl } from './redis-url.ts';
import { createGathering } from './redis-writes.ts';
import { explainTls } from '../tls-errors.ts';
import { translateRedisError } from './redis-errors.ts';

export type RedisArgument = string | number | Buffer;

/**
 * The one view of Redis that services have. Every command has a time-out; trouble is thrown as the
 * `temporarily_unavailable` OAuthError. Keys are given without prefix; the handle adds the deployment's.
 */
export interface RedisHandle {
  /** A Lua script as a function; one round trip (EVALSHA, EVAL on a miss). */
  script(source: {
    readonly name: string;
    readonly lua: string;
  }): (keys: readonly string[], args: readonly RedisArgument[]) => Promise<unknown>;
  /** One command, for example `call('SET', key, value, 'PX', 1000)`. */
  call(command: string, ...args: RedisArgument[]): Promise<unknown>;
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
 * Opens one connection that comes back by itself. A Redis that is away does not keep the process from starting: calls
 * fail with `temporarily_unavailable` until it is back, and are never queued or sent twice.
 * @throws Error when Redis may evict keys: its `maxmemory-policy` must be `noeviction`.
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
  const guard = createPolicyGuard(log);
  connection.onNode((node) => guard.watch(node));
  const watched = watch(connection, log);
  function end(): void {
    watched.end();
    connection.end();
  }
  try {
    if (!(await opened(connection, guard, openTimeoutMs)))
      log?.warn({ error: watched.reason() }, 'Redis is not reachable; going on without until it is');
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
      guard.refusal() ?? (inFlight >= maxInFlight ? 'Too many commands await Redis.' : undefined);
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

  const gather = createGathering(connection);
  const prefixOf = (key: string) =>
    settings.target.shape === 'cluster' ? `${keyPrefix}${slotOf(key)}` : keyPrefix;
  function send(name: string, args: readonly RedisArgument[], firstKey: string): Promise<unknown> {
    const keyed = { keyPrefix: prefixOf(firstKey), replyEncoding: 'utf8' } as const;
    const command = new CommandTimedHere(name, [...args], keyed);
    gather();
    return withinTime(connection.client.sendCommand(command) as Promise<unknown>, commandTimeoutMs);
  }

  return {
    script({ lua }) {
      const sha = createHash('sha1').update(lua).digest('hex');
      return (keys, args) =>
        guarded(() => {
          const rest = [keys.length, ...keys, ...args];
          return send('evalsha', [sha, ...rest], keys[0] ?? '').catch((error: unknown) => {
            if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
            return send('eval', [lua, ...rest], keys[0] ?? '');
          });
        });
    },
    call: (command, ...args) => guarded(() => send(command, args, String(args[0] ?? ''))),
    async close() {
      for (const stop of unmeasure) stop();
      end();
    },
  };
}

/** The client's own timer would have a command fail whose reply has come and was not read yet. */
class CommandTimedHere extends Command {
  override setTimeout(): void {}
}

/**
 * Fails when there is no reply in time. What came meanwhile is read first: a process that was kept from running, by its
 * machine or by itself, finds the replies waiting, and the scripts behind them have done their work.
 */
function withinTime<T>(reply: Promise<T>, milliseconds: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      setImmediate(() => reject(new Error('Redis did not reply in time.')));
    }, milliseconds);
    reply.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}

/**
 * What stands before a key in a cluster, where a script reaches the keys of one slot: those of a service share theirs,
 * as its scripts follow what one record says of another. A counter of the limiter stands alone.
 */
function slotOf(key: string): string {
  const [service, family] = key.split(':', 2);
  return family === 'limit' ? '' : `{${service ?? ''}}`;
}

/**
 * Waits until every server that is to take commands is connected and checked.
 * @returns whether they were within the time.
 */
async function opened(connection: RedisConnection, guard: PolicyGuard, timeoutMs: number): Promise<boolean> {
  const whole = new Promise<void>((resolve) => {
    const look = () => {
      const nodes = connection.nodes();
      if (nodes.length > 0 && nodes.every((node) => guard.knows(node))) resolve();
    };
    guard.onChecked(look);
    connection.client.on('ready', look);
  });
  connection.client.connect().catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  const expired = new Promise<'expired'>((resolve) => {
    timer = setTimeout(resolve, timeoutMs, 'expired');
  });
  const outcome = await Promise.race([whole, expired]);
  clearTimeout(timer);
  const refusal = guard.refusal();
  if (refusal !== undefined) throw new Error(refusal);
  return outcome !== 'expired';
}

interface Watched {
  /** Why there is no connection; undefined while there is one, or when that is not known. */
  reason(): unknown;
  end(): void;
}

/** Writes one line when the connection is lost and one when it is back, however many attempts lie between. */
function watch({ client, nodes, onNode, onError }: RedisConnection, log: Logger | undefined): Watched {
  let ended = false;
  let lost = false;
  let reason: unknown;
  // What follows a certificate that was refused only says that the connection is closed.
  let certificate: unknown;
  onError((error) => {
    const explained = explainTls(error, 'Name it with TESSERA_REDIS_CA.');
    if (explained === error) reason = error;
    else certificate = explained;
  });
  client.on('close', () => {
    if (lost || ended) return;
    lost = true;
    log?.warn({ error: certificate ?? reason }, 'the connection to Redis was lost');
  });
  client.on('ready', () => {
    if (lost) log?.info('the connection to Redis is back');
    lost = false;
    reason = undefined;
    certificate = undefined;
  });
  onNode((node) => {
    if (!client.isCluster) return;
    // Attempts that fail are many, and the driver leaves nodes that it has no use for by itself: those are gone already.
    node.once('ready', () => {
      node.once('close', () => {
        const { host, port } = node.options;
        if (!ended && nodes().includes(node))
          log?.warn({ host, port }, 'the connection to a node of the Redis cluster was lost');
      });
    });
  });
  return {
    reason: () => (client.status === 'ready' ? undefined : (certificate ?? reason)),
    end() {
      ended = true;
    },
  };
}
