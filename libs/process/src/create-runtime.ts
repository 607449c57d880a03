import { join } from 'node:path';
import { systemClock, type Clock, systemRandom } from '@tessera/kit';
import { ConfigError } from './config/load-config.ts';
import { watchClock } from './clock/clock-watch.ts';
import {
  notListening,
  openEmbeddedDatabase,
  openDatabase,
  openRedis,
  traceDatabase,
  traceRedis,
} from '@tessera/stores';
import type { Database, RedisHandle } from '@tessera/stores';
import { failpoints } from './failpoints.ts';
import type { Runtime } from './runtime.ts';
import type { Lifecycle } from './lifecycle.ts';
import type { Logger } from '@tessera/telemetry';
import { databaseOptions, redisOptions, type ProcessConfig } from './config/settings-of-every-process.ts';

/** Which stores a process of the split topology works with; what it needs must be named in its settings. */
export interface StoreNeeds {
  readonly database: boolean;
  readonly redis: boolean;
}

export interface RuntimeOptions {
  /** The process, for example `token`. */
  readonly name: string;
  readonly config: ProcessConfig;
  readonly log: Logger;
  /** Gets the checks of the stores and closes them. */
  readonly lifecycle: Lifecycle;
  /** Absent in compact: a store without a URL is embedded. */
  readonly needs?: StoreNeeds;
  /** The system's unless it is given. */
  readonly clock?: Clock;
}

/**
 * Opens what a process hands to its services: Postgres, or PGlite under the data directory without DATABASE_URL;
 * Redis, or none without REDIS_URL.
 * @throws Error when Redis may evict keys, or the data directory is in use.
 */
export async function createRuntime(options: RuntimeOptions): Promise<Runtime> {
  const { name, config, log, lifecycle, needs, clock = systemClock } = options;
  const failpoint = failpoints(config);
  if (needs !== undefined) requireStores(needs, config);
  const redis = needs?.redis === false ? undefined : await openCache(config, log, lifecycle);
  const common = { log, clock, random: systemRandom, redis, failpoint };
  if (needs?.database === false) return { ...common, database: noDatabase, requireClock: () => undefined };
  const database = await openSql(name, config, log);
  lifecycle.onClose(() => database.close());
  const watch = watchClock({ database, clock, log });
  lifecycle.onClose(() => watch.close());
  lifecycle.check('database', () => watch.check());
  return { ...common, database: traceDatabase(database), requireClock: () => watch.requireAgreement() };
}

function requireStores(needs: StoreNeeds, config: ProcessConfig): void {
  const problems: string[] = [];
  const advice = 'The processes of the split topology share their stores, so none of them is embedded.';
  if (needs.database && config.DATABASE_URL === undefined)
    problems.push(`DATABASE_URL is required. ${advice}`);
  if (needs.redis && config.REDIS_URL === undefined) problems.push(`REDIS_URL is required. ${advice}`);
  if (problems.length > 0) throw new ConfigError(problems);
}

const refuseUse = (): never => {
  throw new Error('This process works without a database.');
};

/** For a process that owns no schema. */
const noDatabase: Database = {
  engine: 'postgres',
  query: refuseUse,
  transaction: refuseUse,
  listen: () => notListening,
  close: async () => undefined,
};

async function openSql(name: string, config: ProcessConfig, log: Logger): Promise<Database> {
  if (config.DATABASE_URL === undefined)
    return openEmbeddedDatabase(join(config.TESSERA_DATA_DIR, 'database'));
  return openDatabase({
    ...databaseOptions(config, config.DATABASE_URL),
    applicationName: `tessera-${name}`,
    log,
  });
}

async function openCache(
  config: ProcessConfig,
  log: Logger,
  lifecycle: Lifecycle,
): Promise<RedisHandle | undefined> {
  if (config.REDIS_URL === undefined) return undefined;
  const redis = await openRedis({ ...redisOptions(config, config.REDIS_URL), log });
  lifecycle.onClose(() => redis.close());
  lifecycle.check('redis', async () => {
    await redis.call('PING');
  });
  return traceRedis(redis);
}
