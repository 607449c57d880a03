import { Pool, type PoolClient, type PoolConfig } from 'pg';
import type { Logger } from 'pino';
import { isPoolExhausted, isUnavailable } from '../store-errors.ts';
import { explainTls } from '../tls-errors.ts';

export type PostgresPools = ReturnType<typeof createPools>;

/**
 * Connections to whichever of several servers is the primary.
 * @param urls one connection string for each server
 */
export function createPools(urls: readonly string[], options: PoolConfig, log?: Logger) {
  // With a single server a session that only reads is found by its first write, without a question beforehand.
  const hooks = urls.length > 1 ? { onConnect: requirePrimary } : {};
  const pools = urls.map((connectionString) => createPool({ ...options, connectionString, ...hooks }, log));
  let chosen = 0;
  /** The pool of the server that connections come from at present. */
  const current = (): Pool => {
    const pool = pools[chosen];
    if (pool === undefined) throw new Error('A connection string is required.');
    return pool;
  };
  return {
    current,
    /** A connection to the current server, else to the next one that accepts writes; each is asked once. */
    async connect(): Promise<PoolClient> {
      const deadline = performance.now() + (options.connectionTimeoutMillis ?? Infinity);
      for (let left = pools.length - 1; ; left -= 1) {
        const tried = chosen;
        try {
          return await current().connect();
        } catch (error) {
          if (isPoolExhausted(error)) throw error;
          // Another caller may have moved on meanwhile.
          if (chosen === tried) chosen = (tried + 1) % pools.length;
          if (left <= 0 || performance.now() >= deadline || !isUnavailable(error))
            throw explainTls(error, 'Name it with sslrootcert in DATABASE_URL.');
        }
      }
    },
    async end(): Promise<void> {
      await Promise.all(pools.map((pool) => pool.end()));
    },
  };
}

function createPool(options: PoolConfig, log: Logger | undefined): Pool {
  const pool = new Pool(options);
  // A connection may break while it is on loan and idle; the statement that follows reports it.
  pool.on('connect', (client) => client.on('error', () => undefined));
  pool.on('error', (error) => log?.warn({ err: error }, 'lost an idle database connection'));
  return pool;
}

/** @throws what Postgres itself answers to the first statement that writes */
async function requirePrimary(client: Pick<PoolClient, 'query'>): Promise<void> {
  const { rows } = await client.query<{ readonly transaction_read_only: string }>(
    'SHOW transaction_read_only',
  );
  if (rows[0]?.transaction_read_only === 'off') return;
  throw Object.assign(new Error('This server is read-only.'), { code: '25006', severity: 'ERROR' });
}
