/**
 * The part of the test kit that works outside a test file: in a global set-up, a script, a harness. It registers no
 * hook, so its caller cleans up.
 */
export { parseForms } from './browser/html.ts';
export { createAuthority, createCertificates } from './certificates/authority.ts';
export { eventually } from './eventually.ts';
export { startReceiver } from './network/receiver.ts';
export type { Received, Receiver } from './network/receiver.ts';
export { bareEnvironment } from './provision/bare-environment.ts';
export { copyEmbeddedDatabase } from './provision/embedded-database.ts';
export { provideChromium } from './provision/provide-chromium.ts';
export { createDatabase } from './provision/postgres/create-database.ts';
export type { TestDatabase } from './provision/postgres/create-database.ts';
export { createServiceRoles } from './provision/postgres/service-roles.ts';
export { freePort, holdProcess } from './provision/held-process.ts';
export type { HeldProcess, HeldProcessOptions, Store } from './provision/held-process.ts';
export { startNginx } from './provision/nginx.ts';
export type { Nginx } from './provision/nginx.ts';
export {
  loggingStatements,
  startPostgres,
  startRestartablePostgres,
} from './provision/postgres/start-postgres.ts';
export type { RestartableStore } from './provision/postgres/start-postgres.ts';
export { startReplicatedPostgres } from './provision/postgres/postgres-standby.ts';
export type { ReplicatedPostgres } from './provision/postgres/postgres-standby.ts';
export { startRedis } from './provision/redis/start-redis.ts';
export type { RedisTlsFiles } from './provision/redis/start-redis.ts';
export { startRedisCluster } from './provision/redis/redis-cluster.ts';
export type { RedisCluster, RedisClusterOptions } from './provision/redis/redis-cluster.ts';
export { startReplicatedRedis } from './provision/redis/redis-sentinel.ts';
export type { ReplicatedRedis } from './provision/redis/redis-sentinel.ts';
export { requiredUrl } from './provision/urls.ts';
