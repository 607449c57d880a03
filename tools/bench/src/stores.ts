import { Redis } from 'ioredis';
import pg from 'pg';
import { startPostgres, startRedis } from '@tessera/test-kit/provision';
import { processorTimeOfTree } from './processor-time.ts';

/** The work of the stores so far. */
export interface StoreWork {
  /** SQL statements, BEGIN and COMMIT included. */
  readonly statements: number;
  /** Statements that read directory records. */
  readonly directoryReads: number;
  /** Redis commands, including those of scripts. */
  readonly commands: number;
  /** Microseconds of processor time. */
  readonly postgres: number;
  readonly redis: number;
}

export interface Stores {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  work(): Promise<StoreWork>;
  /** The same stores with an empty database and an unused number of Redis, for a system beside another. */
  apart(): Promise<Stores>;
  stop(): Promise<void>;
}

// Durable like a real one, and counting statements by itself, which costs its processes a little.
const settings = {
  fsync: 'on',
  full_page_writes: 'on',
  shared_preload_libraries: 'pg_stat_statements',
  'pg_stat_statements.track_utility': 'on',
};

/** Postgres and Redis of this run alone, so that no other work is counted. */
export async function startStores(): Promise<Stores> {
  const [postgres, redis] = await Promise.all([startPostgres(settings), startRedis()]);
  const database = new pg.Client({ connectionString: postgres.url });
  await database.connect();
  await database.query('CREATE EXTENSION pg_stat_statements');
  const commands = new Redis(redis.url);
  const lockFile = await database.query<{ text: string }>(`SELECT pg_read_file('postmaster.pid') AS text`);
  const postgresPid = Number.parseInt(lockFile.rows[0]?.text ?? '', 10);
  const redisPid = Number(/^process_id:(\d+)/m.exec(await commands.info('server'))?.[1]);
  let others = 0;
  const stores: Stores = {
    databaseUrl: postgres.url,
    redisUrl: redis.url,
    async work() {
      return {
        ...(await countStatements(database)),
        commands: countCommands(await commands.info('commandstats')),
        postgres: processorTimeOfTree(postgresPid),
        redis: processorTimeOfTree(redisPid),
      };
    },
    async apart() {
      others += 1;
      await database.query(`CREATE DATABASE apart_${others}`);
      const [databaseUrl, redisUrl] = [new URL(postgres.url), new URL(redis.url)];
      databaseUrl.pathname = `/apart_${others}`;
      redisUrl.pathname = `/${others}`;
      return { ...stores, databaseUrl: databaseUrl.href, redisUrl: redisUrl.href };
    },
    async stop() {
      commands.disconnect();
      await database.end();
      await Promise.all([postgres.stop(), redis.stop()]);
    },
  };
  return stores;
}

async function countStatements(
  database: pg.Client,
): Promise<Pick<StoreWork, 'statements' | 'directoryReads'>> {
  const { rows } = await database.query<{ statements: number; reads: number }>(
    `SELECT coalesce(sum(calls), 0)::float8 AS statements,
            coalesce(sum(calls) FILTER (WHERE query ~ 'FROM directory.(application|user_account)'), 0)::float8 AS reads
       FROM pg_stat_statements WHERE query NOT LIKE '%pg_stat_statements%'`,
  );
  return { statements: rows[0]?.statements ?? 0, directoryReads: rows[0]?.reads ?? 0 };
}

/** Without those of the benchmark itself. */
function countCommands(info: string): number {
  return [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)]
    .filter(([, name]) => name !== 'info')
    .reduce((sum, [, , calls]) => sum + Number(calls), 0);
}
