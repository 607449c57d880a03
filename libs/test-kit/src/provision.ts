/**
 * The part of the test kit that works outside a test file: in a global set-up, a script, a harness. It registers no
 * hook, so its caller cleans up.
 */
export { parseForms } from '../browser/html.ts';
export { createAuthority, createCertificates } from '../certificates/authority.ts';
export { eventually } from '../eventually.ts';
export { startReceiver } from '../network/receiver.ts';
export type { Received, Receiver } from '../network/receiver.ts';
export { copyEmbeddedDatabase } from './embedded-database.ts';
export { provideChromium } from './provide-chromium.ts';
export { createDatabase } from './postgres/create-database.ts';
export type { TestDatabase } from './postgres/create-database.ts';
export { createServiceRoles } from './postgres/service-roles.ts';
export { freePort, holdProcess } from './held-process.ts';
export type { HeldProcess, HeldProcessOptions, Store } from './held-process.ts';
export { startNginx } from './nginx.ts';
export type { Nginx } from './nginx.ts';
export { loggingStatements, startPostgres, startRestartablePostgres } from './postgres/start-postgres.ts';
export type { RestartableStore } from './postgres/start-postgres.ts';
export { startReplicatedPostgres } from './postgres/postgres-standby.ts';
export type { ReplicatedPostgres } from './postgres/postgres-standby.ts';
export { startRedis } from './redis/start-redis.ts';
export type { RedisTlsFiles } from './redis/start-redis.ts';
export { startRedisCluster } from './redis/redis-cluster.ts';
export type { RedisCluster, RedisClusterOptions } from './redis/redis-cluster.ts';
export { startReplicatedRedis } from './redis/redis-sentinel.ts';
export type { ReplicatedRedis } from './redis/redis-sentinel.ts';
export { requiredUrl } from './urls.ts';
