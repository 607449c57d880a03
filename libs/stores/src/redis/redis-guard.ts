import { setTimeout as pause } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';

/** Milliseconds until a server is asked again that did not answer. */
const pauseMs = 250;

export type RedisGuard = ReturnType<typeof createRedisGuard>;

/**
 * Redis must not evict keys to make room: it would forget codes and counters in silence. And it must be in the database
 * of the URL: the driver goes on in database 0 where it is refused. Checked at every connection, as another server may
 * answer after a failover.
 * @param database number of the database that the URL names
 */
export function createRedisGuard(database: number, log: Logger | undefined) {
  const refusals = new Map<Redis, string | undefined>();
  const unconfirmed = new Set<Redis>();
  const listeners: (() => void)[] = [];
  let warned = false;

  async function check(node: Redis): Promise<string | undefined> {
    const refusal =
      (database === 0 ? undefined : await refusedDatabase(node, database)) ?? (await refusedPolicy(node));
    if (refusal !== undefined) log?.error(refusal);
    return refusal;
  }

  async function refusedPolicy(node: Redis): Promise<string | undefined> {
    const policy = await readPolicy(node);
    if (policy === undefined) {
      if (!warned) log?.warn('Redis does not tell its maxmemory-policy; make sure that it is noeviction');
      warned = true;
    }
    if (policy === undefined || policy === 'noeviction') return undefined;
    return `Redis has maxmemory-policy ${policy} and may drop keys at any time. Set it to noeviction.`;
  }

  /** Checks a server until it has answered, as long as this connection of it is there. */
  async function confirm(node: Redis, isPresent: () => boolean): Promise<void> {
    for (;;) {
      const answer = await check(node).then(
        (refusal) => ({ refusal }),
        () => undefined,
      );
      if (!isPresent()) return;
      if (answer !== undefined) unconfirmed.delete(node);
      // A busy server that does not answer in time stays what it was, and is asked again.
      refusals.set(node, answer === undefined ? refusals.get(node) : answer.refusal);
      for (const listener of listeners) listener();
      if (answer !== undefined) return;
      await pause(pauseMs, undefined, { ref: false });
      if (!isPresent()) return;
    }
  }

  return {
    /** Checks a server at each of its connections. */
    watch(node: Redis): void {
      let connections = 0;
      node.on('connect', () => {
        connections += 1;
        if (database !== 0) unconfirmed.add(node);
      });
      node.on('ready', () => {
        const connection = connections;
        // What cannot be read, because the connection is lost again, is read at the next.
        void confirm(node, () => connection === connections && node.status === 'ready');
      });
      node.on('end', () => {
        refusals.delete(node);
        unconfirmed.delete(node);
      });
    },
    /** Whether a server was checked since it is connected, or could not be. */
    knows: (node: Redis): boolean => refusals.has(node),
    onChecked: (listener: () => void): void => void listeners.push(listener),
    /** Why the Redis that is connected must not be used. */
    refusal: (): string | undefined => [...refusals.values()].find((refusal) => refusal !== undefined),
    /** Whether a server has not said yet that it is in the database of the URL. */
    awaitsDatabase: (): boolean => unconfirmed.size > 0,
  };
}

const refusedSelects: readonly (readonly [answer: RegExp, sentence: (database: number) => string])[] = [
  [
    /index is out of range/,
    (database) =>
      `Redis has no database ${database}. Raise "databases" in its configuration, or correct the number in REDIS_URL.`,
  ],
  [
    /cluster mode/,
    (database) =>
      `This Redis is a cluster, which has no database ${database}, only 0. Use redis+cluster:// without a number.`,
  ],
  [
    /^NOPERM/,
    (database) =>
      `The user of REDIS_URL may not choose database ${database}. Grant it +select, or leave the number out.`,
  ],
];

/** What Redis answers if it is asked for its database, as a sentence; undefined if it is in it. */
async function refusedDatabase(node: Redis, database: number): Promise<string | undefined> {
  try {
    await node.select(database);
    return undefined;
  } catch (error) {
    if (!(error instanceof Error) || error.name !== 'ReplyError') throw error;
    const known = refusedSelects.find(([answer]) => answer.test(error.message));
    return known?.[1](database) ?? `Redis does not give database ${database}: ${error.message}.`;
  }
}

/** The policy, by whichever command this server permits; undefined when it permits none. */
async function readPolicy(client: Redis): Promise<string | undefined> {
  const reply: unknown = await ifPermitted(client.config('GET', 'maxmemory-policy'));
  if (Array.isArray(reply) && typeof reply[1] === 'string') return reply[1];
  return /^maxmemory_policy:(\S+)/m.exec((await ifPermitted(client.info('memory'))) ?? '')?.[1];
}

async function ifPermitted<T>(reply: Promise<T>): Promise<T | undefined> {
  try {
    return await reply;
  } catch (error) {
    if (error instanceof Error && /^(NOPERM|ERR unknown (sub)?command)/i.test(error.message))
      return undefined;
    throw error;
  }
}
