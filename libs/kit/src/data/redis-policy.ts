import type { Redis } from 'ioredis';
import type { Logger } from 'pino';

export interface PolicyGuard {
  /** Waits for the first connection and its check. Resolves as well when there is none within the time. */
  opened(timeoutMs: number): Promise<void>;
  /** Why the Redis that is connected must not be used. */
  refusal(): string | undefined;
}

/**
 * Redis must not evict keys to make room: it would forget codes and counters in silence. Checked at every connection,
 * as another server may answer after a failover.
 */
export function createPolicyGuard(client: Redis, log: Logger | undefined): PolicyGuard {
  let refusal: string | undefined;
  let warned = false;

  async function check(): Promise<void> {
    const policy = await readPolicy(client);
    if (policy === undefined) {
      if (!warned) log?.warn('Redis does not tell its maxmemory-policy; make sure that it is noeviction');
      warned = true;
    }
    refusal =
      policy === undefined || policy === 'noeviction'
        ? undefined
        : `Redis has maxmemory-policy ${policy} and may drop keys at any time. Set it to noeviction.`;
    if (refusal !== undefined) log?.error(refusal);
  }

  return {
    refusal: () => refusal,
    async opened(timeoutMs) {
      const first = new Promise<void>((resolve) => {
        client.on('ready', () => {
          void check()
            .catch(() => undefined)
            .finally(resolve);
        });
      });
      client.connect().catch(() => undefined);
      let timer: NodeJS.Timeout | undefined;
      const expired = new Promise<'expired'>((resolve) => {
        timer = setTimeout(resolve, timeoutMs, 'expired');
      });
      const outcome = await Promise.race([first, expired]);
      clearTimeout(timer);
      if (outcome === 'expired') log?.warn('Redis is not reachable; going on without until it is');
      if (refusal !== undefined) throw new Error(refusal);
    },
  };
}

/** The policy, by whichever command this server permits; undefined when it permits none. */
async function readPolicy(client: Redis): Promise<string | undefined> {
  try {
    const reply: unknown = await client.config('GET', 'maxmemory-policy');
    if (Array.isArray(reply) && typeof reply[1] === 'string') return reply[1];
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
  try {
    return /^maxmemory_policy:(\S+)/m.exec(await client.info('memory'))?.[1];
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return undefined;
  }
}

function isRefusal(error: unknown): boolean {
  return error instanceof Error && /^(NOPERM|ERR unknown (sub)?command)/i.test(error.message);
}
