import type { PoolClient, PoolConfig } from 'pg';
import type { Logger } from 'pino';
import { temporarilyUnavailable } from '@tessera/oauth';
import { isInCall, Secret } from '@tessera/kit';
import type { MigrationSession, OpenedDatabase, Result, Statement } from '../database.ts';
import { metrics } from '@tessera/telemetry';
import { channel } from '../feed/announcements.ts';
import { committing, requireTime } from '../statement-time.ts';
import { withRetries } from '../retry.ts';
import { createPostgresListener } from './postgres-listener.ts';
import { createPools, type PostgresPools } from './postgres-pools.ts';
import { parsePostgresUrl, requireFiles } from './postgres-url.ts';
import { endsSession } from '../store-errors.ts';
import { createTransactionScope } from './transaction-scope.ts';
import { postgresTypes } from './postgres-types.ts';

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
 * Opens a bounded pool. Does not connect: an unavailable database makes calls fail with `temporarily_unavailable`
 * until it is back.
 * @throws Error when the URL is none, or a file that it names cannot be read.
 */
export async function openDatabase(options: PostgresOptions): Promise<OpenedDatabase> {
  const { maxConnections = 10, acquireTimeoutMs = 2000, statementTimeoutMs = 5000, log } = options;
  const url = options.url instanceof Secret ? options.url.reveal() : options.url;
  requireFiles(url);
  const urls = parsePostgresUrl(url);
  const poolOptions: PoolConfig = {
    max: maxConnections,
    connectionTimeoutMillis: acquireTimeoutMs,
    idleTimeoutMillis: 30_000,
    maxLifetimeSeconds: 1800,
    keepAlive: true,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + clientGraceMs,
    idle_in_transaction_session_timeout: Math.max(10_000, statementTimeoutMs * 2),
    application_name: options.applicationName ?? 'tessera',
    types: postgresTypes,
  };
  const pools = createPools(urls, poolOptions, log);
  // A migration may take its time, and a listener waits for ever. Each connects when there is one; none stays open for
  // another.
  const patientPools = createPools(
    urls,
    { ...poolOptions, query_timeout: 0, idleTimeoutMillis: 1, keepAliveInitialDelayMillis: 10_000 },
    log,
  );
  const unmeasure = measurePools(pools);
  const scope = createTransactionScope();

  async function withClient<T>(work: (lease: Lease) => Promise<T>, from = pools): Promise<T> {
    if (from.current().waitingCount >= maxConnections * waitingPerConnection) {
      throw temporarilyUnavailable(new Error('Too many callers wait for a database connection.'));
    }
    const client = await from.connect();
    const lease: Lease = { client, statementTimeoutMs, broken: false };
    try {
      return await work(lease);
    } catch (error) {
      lease.broken ||= endsSession(error);
      throw error;
    } finally {
      client.release(lease.broken);
    }
  }

  const query = async <Row>(statement: Statement): Promise<Result<Row>> => {
    scope.assertOutside();
    return withRetries(() =>
      withClient((lease) =>
        isInCall()
          ? inTransaction(lease, (tx) => tx.query<Row>(statement))
          : execute<Row>(lease.client, statement),
      ),
    );
  };
  const listener = createPostgresListener({
    connect: () => patientPools.connect(),
    notify: (payload) =>
      query({ name: 'stores.notify', text: 'SELECT pg_notify($1, $2)', values: [channel, payload] }),
    log,
  });

  let closed: Promise<void> | undefined;
  async function close(): Promise<void> {
    try {
      await listener.close();
      await Promise.all([pools.end(), patientPools.end()]);
    } finally {
      unmeasure();
    }
  }

  return {
    engine: 'postgres',
    query,
    async transaction(work) {
      scope.assertOutside();
      return withRetries(() => withClient((lease) => scope.enter(() => inTransaction(lease, work))));
    },
    listen: (record, heard) => listener.listen(record, heard),
    migration: (work) => withRetries(() => withClient((lease) => inTransaction(lease, work), patientPools)),
    outsideTransaction: (work) =>
      withRetries(() =>
        withClient(async (lease) => {
          // Ends the session, and with it what the work has set and locked there.
          lease.broken = true;
          return work(migrationSession(lease.client));
        }, patientPools),
      ),
    close: () => (closed ??= close()),
  };
}

function measurePools(pools: PostgresPools): () => void {
  const options = {
    name: 'tessera_database_connections',
    help: 'Connections to Postgres that work, that are idle, and callers that wait for one.',
    labels: ['state'],
  };
  return metrics.gauge(options, () => {
    const pool = pools.current();
    return [
      { labels: { state: 'busy' }, value: pool.totalCount - pool.idleCount },
      { labels: { state: 'idle' }, value: pool.idleCount },
      { labels: { state: 'waiting' }, value: pool.waitingCount },
      { labels: { state: 'limit' }, value: pool.options.max },
    ];
  });
}

/** A connection on loan from a pool; a broken one is ended instead of being given to the next caller. */
interface Lease {
  readonly client: PoolClient;
  readonly statementTimeoutMs: number;
  broken: boolean;
}

async function execute<Row>(client: PoolClient, statement: Statement): Promise<Result<Row>> {
  const { name, text, values = [], beforeSending } = statement;
  beforeSending?.();
  requireTime();
  const result = await client.query({ name, text, values: [...values] });
  return { rows: result.rows as Row[], rowCount: result.rowCount ?? 0 };
}

function migrationSession(client: PoolClient): MigrationSession {
  return {
    query: (statement) => execute(client, statement),
    run: async (sql) => void (await client.query(sql)),
  };
}

async function inTransaction<T>(lease: Lease, work: (session: MigrationSession) => Promise<T>): Promise<T> {
  const { client } = lease;
  const left = Math.ceil(requireTime());
  await client.query(
    left < lease.statementTimeoutMs ? `BEGIN; SET LOCAL statement_timeout = ${left}` : 'BEGIN',
  );
  let result: T;
  try {
    result = await work(migrationSession(client));
    requireTime();
  } catch (error) {
    // The error of the work is the one to report, whatever happens to the session afterwards.
    await client.query('ROLLBACK').catch(() => {
      lease.broken = true;
    });
    throw error;
  }
  const committed = await committing(() => client.query('COMMIT'));
  if (committed.command !== 'COMMIT')
    throw new Error('A failed statement was ignored, so the transaction was rolled back.');
  return result;
}
