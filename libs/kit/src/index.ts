/**
 * What every process stands on: configuration, log, clock, ids, calls between services, handles to the stores,
 * audit, metrics, traces, life cycle. It knows no protocol rule and no service.
 */
export * from './address-key.ts';
export * from './bounded-cache.ts';
export { epochSeconds, systemClock } from './clock.ts';
export type { Clock } from './clock.ts';
export * from './config.ts';
export * from './create-kit.ts';
export * from './failpoints.ts';
export { http } from './http.ts';
export { opaquePrefix, opaqueValue, systemRandom, ulid } from './ids.ts';
export type { Random } from './ids.ts';
export * from './kit.ts';
export type { Lifecycle } from './lifecycle.ts';
export * from './limiter.ts';
export { createLogger } from './log.ts';
export type { Logger, LoggerOptions, LogLevel } from './log.ts';
export { plainLine } from './log-plain.ts';
export type { PlainLine } from './log-plain.ts';
export { expectRefusals } from './metrics/calls.ts';
export { durationBuckets, metrics } from './metrics/index.ts';
export type { Counter, Histogram } from './metrics/index.ts';
export * from './process-config.ts';
export * from './run-process.ts';
export * from './run-service.ts';
export * from './secret.ts';
export {
  choice,
  duration,
  flag,
  integer,
  list,
  optionalPort,
  optionalText,
  parseDuration,
  port,
  secret,
  text,
  url,
} from './setting-types.ts';
export { knownSettings } from './settings.ts';
export * from './shared-call.ts';
export * from './shared-settings.ts';
export * from './rpc/call.ts';
export { rootCall } from './rpc/call-options.ts';
export type { CertificateFilePaths, RpcCredentials } from './rpc/credentials.ts';
export { firstCharacters, withoutTokens } from './log-text.ts';
export { local } from './rpc/local.ts';
export type { Peer, PeerOptions } from './rpc/remote.ts';
export type { RpcServer, ServeOptions } from './rpc/serve.ts';
export { connectPeer, serve } from './rpc/wire.ts';
export * from './data/audit.ts';
export * from './data/audit-batch.ts';
export * from './data/change-feed.ts';
export { requireSameTime } from './data/clock-skew.ts';
export * from './data/database.ts';
export { migrate } from './data/migrate.ts';
export type { MigrationMode, Migrations } from './data/migrate.ts';
export { openEmbeddedDatabase } from './data/pglite.ts';
export { openDatabase } from './data/postgres.ts';
export type { PostgresOptions } from './data/postgres.ts';
export * from './data/purge.ts';
export { openRedis } from './data/redis.ts';
export { redisOptions } from './data/redis-settings.ts';
export type { RedisArgument, RedisHandle, RedisOptions } from './data/redis.ts';
export { developmentSecret, developmentSecrets } from './data/secrets.ts';
export { remedyFor, sqlState } from './data/store-errors.ts';
export { whenAvailable } from './data/when-available.ts';
export { parseTraceparent, traceparentKey } from './telemetry/trace-context.ts';
export type { TraceContext } from './telemetry/trace-context.ts';
export type { EndedSpan, Span, SpanOptions } from './telemetry/span.ts';
export {
  activateTracer,
  activeTracer,
  annotate,
  openTracer,
  traced,
  traceFieldsOf,
} from './telemetry/tracing.ts';
