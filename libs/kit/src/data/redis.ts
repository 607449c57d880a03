import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { temporarilyUnavailable } from '@tessera/oauth';
import { Secret } from '../secret.ts';
import { metrics } from '../metrics/index.ts';
import { createPolicyGuard } from './redis-policy.ts';
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
  /** `redis://` or `rediss://` (TLS). */
  readonly url: Secret | string;
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
  const client = new Redis(options.url instanceof Secret ? options.url.reveal() : options.url, {
    lazyConnect: true,
    keyPrefix,
    commandTimeout: commandTimeoutMs,
    connectTimeout: Math.max(1000, commandTimeoutMs * 4),
    // A server that hangs is left, so that calls fail at once instead of after the time-out.
    socketTimeout: commandTimeoutMs * 4,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    reconnectOnError: (error) => error.message.startsWith('READONLY'),
    retryStrategy: (attempt) => Math.min(50 * 2 ** Math.min(attempt, 5), 1000) + Math.random() * 100,
  });
  const guard = createPolicyGuard(client, log);
  watch(client, log);
  try {
    await guard.opened(openTimeoutMs);
  } catch (error) {
    client.disconnect();
    throw error;
  }

  let inFlight = 0;
  const unmeasure = [
    metrics.gauge({ name: 'tessera_redis_connected', help: 'Connections to Redis that are ready.' }, () => [
      { value: client.status === 'ready' ? 1 : 0 },
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
      throw translateRedisError(error);
    } finally {
      inFlight -= 1;
    }
  }

  return {
    script({ lua }) {
      const sha = createHash('sha1').update(lua).digest('hex');
      return (keys, args) =>
        guarded(() =>
          client.evalsha(sha, keys.length, ...keys, ...args).catch((error: unknown) => {
            if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
            return client.eval(lua, keys.length, ...keys, ...args);
          }),
        );
    },
    call: (command, ...args) => guarded(() => client.call(command, ...args)),
    async close() {
      for (const end of unmeasure) end();
      client.disconnect();
    },
  };
}

/** One line when the connection is lost and one when it is back, however many attempts lie between. */
function watch(client: Redis, log: Logger | undefined): void {
  let lost = false;
  let reason: Error | undefined;
  client.on('error', (error: Error) => {
    reason = error;
  });
  client.on('close', () => {
    if (lost) return;
    lost = true;
    log?.warn({ error: reason }, 'the connection to Redis was lost');
  });
  client.on('ready', () => {
    if (lost) log?.info('the connection to Redis is back');
    lost = false;
    reason = undefined;
  });
}
