import { Pool } from 'pg';
import type { PoolClient } from 'pg';
import type { Logger } from 'pino';
import { temporarilyUnavailable } from '@tessera/oauth';
import { Secret } from '@tessera/kit';
import type { MigrationSession, OpenedDatabase, Queryable } from '../database.ts';
import { metrics } from '@tessera/telemetry';
import { withRetries } from '../retry.ts';
import { createHosts } from './postgres-hosts.ts';
import { execute } from './postgres-statement.ts';
import { parsePostgresUrl, requireFiles } from './postgres-url.ts';
import { endsSession, isPoolExhausted, isUnavailable } from '../store-errors.ts';
import { explainTls } from '../tls-errors.ts';
import { createTransactionScope } from './transaction-scope.ts';
import { postgresTypes } from './types.ts';

export interface PostgresOptions {
  /**
   * `postgres://user:password@host:port[,host:port...]/database?sslmode=...`. Every `sslmode` but `disable` and
   * `no-verify` verifies the server's certificate and name; `sslrootcert` names the CA. Of several hosts the one that
   * writes is used.
   */
  readonly url: Secret | string;
  readonly maxConnections?: number;
  /** How long to wait for a connection, be it a free or a new one. */
  readonly acquireTimeoutMs?: number;
  /** How long one statement may take; enforced by the server, and shortly after by the client. */
  readonly statementTimeoutMs?: number;
  /** Seen in `pg_stat_activity`. */
  readonly applicationName?: string;
  readonly log?: Logger;
}

/** How much later than the server the client gives up on a statement, for a server that no longer answers. */
const clientGraceMs = 250;
/** Callers that may wait for a connection, per connection; more are refused at once. */
const waitingPerConnection = 100;

/**
 * Opens a bounded pool. Does not connect: a database that is away makes calls fail with `temporarily_unavailable`
 * until it is back.
 * @throws Error when the URL is none, or a file that it names cannot be read.
 */
export async function openDatabase(options: PostgresOptions): Promise<OpenedDatabase> {
  const { maxConnections = 10, acquireTimeoutMs = 2000, statementTimeoutMs = 5000, log } = options;
  const url = options.url instanceof Secret ? options.url.reveal() : options.url;
  requireFiles(url);
  const hosts = createHosts(parsePostgresUrl(url), acquireTimeoutMs);
  const pool = new Pool({
    ...hosts.options,
    max: maxConnections,
    connectionTimeoutMillis: acquireTimeoutMs,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 1800,
    keepAlive: true,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: Math.max(10_000, statementTimeoutMs * 2),
    application_name: options.applicationName ?? 'tessera',
    types: postgresTypes,
  });
  pool.on('connect', (client) => client.on('error', ignore));
  pool.on('error', (error) => log?.warn({ error }, 'an idle database connection was lost'));
  const unmeasure = measurePool(pool);
  const scope = createTransactionScope();

  /** A connection to the server that was chosen, else to one of the others, each asked once. */
  async function connect(): Promise<PoolClient> {
    const deadline = performance.now() + acquireTimeoutMs;
    for (let left = hosts.count - 1; ; left -= 1) {
      const tried = hosts.chosen;
      try {
        return await pool.connect();
      } catch (error) {
        if (isPoolExhausted(error)) throw error;
        hosts.leave(tried);
        if (left <= 0 || performance.now() >= deadline || !isUnavailable(error))
          throw explainTls(error, 'Name it with sslrootcert in DATABASE_URL.');
      }
    }
  }

  async function withClient<T>(work: (lease: Lease) => Promise<T>): Promise<T> {
    if (pool.waitingCount >= maxConnections * waitingPerConnection) {
      throw temporarilyUnavailable(new Error('Too many callers wait for a database connection.'));
    }
    const client = await connect();
    const lease: Lease = { client, broken: false };
    try {
      return await work(lease);
    } catch (error) {
      lease.broken ||= endsSession(error);
      throw error;
    } finally {
      client.release(lease.broken);
    }
  }

  const timeoutMs = statementTimeoutMs + clientGraceMs;
  let closed: Promise<void> | undefined;
  return {
    engine: 'postgres',
    async query(statement) {
      scope.assertOutside();
      return withRetries(() => withClient(({ client }) => execute(client, statement, timeoutMs)));
    },
    async transaction(work) {
      scope.assertOutside();
      return withRetries(() =>
        withClient((lease) =>
          scope.enter(() => inTransaction(lease, () => work(session(lease, timeoutMs)), timeoutMs)),
        ),
      );
    },
    migration: (work) =>
      withRetries(() =>
        withClient((lease) => inTransaction(lease, () => work(migrationSession(lease)), undefined)),
      ),
    close: () => (closed ??= pool.end().finally(unmeasure)),
  };
}

function measurePool(pool: Pool): () => void {
  const options = {
    name: 'tessera_database_connections',
    help: 'Connections to Postgres that work, that are idle, and callers that wait for one.',
    labels: ['state'],
  };
  return metrics.gauge(options, () => [
    { labels: { state: 'busy' }, value: pool.totalCount - pool.idleCount },
    { labels: { state: 'idle' }, value: pool.idleCount },
    { labels: { state: 'waiting' }, value: pool.waitingCount },
    { labels: { state: 'limit' }, value: pool.options.max },
  ]);
}

/** A connection may break while it is held and idle; the statement that follows reports it. */
const ignore = () => undefined;

/** A connection on loan from the pool; a broken one is ended instead of being given to the next. */
interface Lease {
  readonly client: PoolClient;
  broken: boolean;
}

function session({ client }: Lease, timeoutMs: number | undefined): Queryable {
  return { query: (statement) => execute(client, statement, timeoutMs) };
}

function migrationSession(lease: Lease): MigrationSession {
  return {
    ...session(lease, undefined),
    async run(sql) {
      await lease.client.query(sql);
    },
  };
}

async function inTransaction<T>(
  lease: Lease,
  work: () => Promise<T>,
  timeoutMs: number | undefined,
): Promise<T> {
  const command = (text: string) => lease.client.query({ text, ...limit(timeoutMs) });
  await command('BEGIN');
  let result: T;
  try {
    result = await work();
  } catch (error) {
    // The error of the work is the one to report, whatever happens to the session afterwards.
    await command('ROLLBACK').catch(() => {
      lease.broken = true;
    });
    throw error;
  }
  const committed = await command('COMMIT');
  if (committed.command !== 'COMMIT')
    throw new Error('A failed statement was ignored, so the transaction was rolled back.');
  return result;
}

function limit(timeoutMs: number | undefined): { query_timeout?: number } {
  return timeoutMs === undefined ? {} : { query_timeout: timeoutMs };
}
