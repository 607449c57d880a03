import type { Redis } from 'ioredis';
import type { Logger } from 'pino';

export type PolicyGuard = ReturnType<typeof createPolicyGuard>;

/**
 * Redis must not evict keys to make room: it would forget codes and counters in silence. Checked at every connection,
 * as another server may answer after a failover.
 */
export function createPolicyGuard(log: Logger | undefined) {
  const refusals = new Map<Redis, string | undefined>();
  const listeners: (() => void)[] = [];
  let warned = false;

  async function check(node: Redis): Promise<string | undefined> {
    const policy = await readPolicy(node);
    if (policy === undefined) {
      if (!warned) log?.warn('Redis does not tell its maxmemory-policy; make sure that it is noeviction');
      warned = true;
    }
    if (policy === undefined || policy === 'noeviction') return undefined;
    const refusal = `Redis has maxmemory-policy ${policy} and may drop keys at any time. Set it to noeviction.`;
    log?.error(refusal);
    return refusal;
  }

  return {
    /** Checks a server at each of its connections. */
    watch(node: Redis): void {
      node.on('ready', () => {
        // What cannot be read, because the connection is lost again, is read at the next.
        void check(node)
          .catch(() => refusals.get(node))
          .then((refusal) => {
            if (node.status === 'end') return;
            refusals.set(node, refusal);
            for (const listener of listeners) listener();
          });
      });
      node.on('end', () => refusals.delete(node));
    },
    /** Whether a server was checked since it is connected, or could not be. */
    knows: (node: Redis): boolean => refusals.has(node),
    onChecked: (listener: () => void): void => void listeners.push(listener),
    /** Why the Redis that is connected must not be used. */
    refusal: (): string | undefined => [...refusals.values()].find((refusal) => refusal !== undefined),
  };
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
