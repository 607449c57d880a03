/**
 * Postgres, PGlite, Redis and memory: connections, migrations, the change feed, purging and rate limits. It owns no
 * table of a service.
 *
 *     services ─> Database ─┬─> postgres/ pools ──> Postgres        migrations/ ─> Database, once per schema
 *                           └─> postgres/pglite ──> a directory     feed/ change-feed <── feed-table, polled
 *     services ─> RedisHandle ─> redis/ ──> Redis, Sentinel, cluster
 *     limits/ limiter ─> Redis, or counters in memory while it is unavailable; purge ─> deletes what expired
 */
export { addressKey, networkKey } from './limits/address-key.ts';
export { ChangeFeed, type FeedItem, type FeedStore, type Sequenced } from './feed/change-feed.ts';
export { notListening } from './feed/announcements.ts';
export type { Database, Listening, OpenedDatabase, Queryable, Statement } from './database.ts';
export { createFeedStore, type FeedTable, type RetainedFeedStore } from './feed/feed-table.ts';
export type { LimitRule } from './limits/counters.ts';
export { createLimiter, type Counted, type Limiter } from './limits/limiter.ts';
export {
  migrate,
  pendingMigrations,
  requireUtf8,
  WrongEncodingError,
  type MigrationMode,
  type Migrations,
} from './migrations/migrate.ts';
export { tryRights } from './migrations/tried-rights.ts';
export { openEmbeddedDatabase } from './postgres/pglite.ts';
export { openDatabase, type PostgresOptions } from './postgres/postgres.ts';
export { startPurge, type Purge } from './purge.ts';
export type { RedisTls } from './redis/redis-client.ts';
export { probe, probeRedis } from './redis/redis-probe.ts';
export { openRedis, type RedisArgument, type RedisHandle, type RedisOptions } from './redis/redis.ts';
export { remedyFor } from './store-errors.ts';
export * from './store-urls.ts';
export { traceDatabase, traceRedis } from './traced-stores.ts';
export { whenAvailable } from './when-available.ts';
