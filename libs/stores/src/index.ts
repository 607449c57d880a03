/**
 * Postgres, PGlite, Redis and memory: connections, migrations, the change feed, purging and rate limits. It owns no table of a service.
 */
export { addressKey } from './address-key.ts';
export { ChangeFeed } from './change-feed.ts';
export type { FeedItem, FeedStore, Sequenced } from './change-feed.ts';
export type { Database, OpenedDatabase, Queryable, Statement } from './database.ts';
export { createFeedStore } from './feed-table.ts';
export type { FeedTable, RetainedFeedStore } from './feed-table.ts';
export { createLimiter } from './limiter.ts';
export type { LimitRule, Limiter } from './limiter.ts';
export { migrate, pendingMigrations } from './migrations/migrate.ts';
export type { MigrationMode, Migrations } from './migrations/migrate.ts';
export { openEmbeddedDatabase } from './postgres/pglite.ts';
export { parsePostgresUrl } from './postgres/postgres-url.ts';
export { openDatabase } from './postgres/postgres.ts';
export { startPurge } from './purge.ts';
export type { Purge } from './purge.ts';
export type { RedisTls } from './redis/redis-client.ts';
export { parseRedisUrl } from './redis/redis-url.ts';
export { openRedis } from './redis/redis.ts';
export type { RedisArgument, RedisHandle, RedisOptions } from './redis/redis.ts';
export { remedyFor } from './store-errors.ts';
export { traceDatabase, traceRedis } from './traced-stores.ts';
export { whenAvailable } from './when-available.ts';
