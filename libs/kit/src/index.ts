/**
 * What every process stands on: configuration, log, clock, ids, calls between services, handles to the stores,
 * audit, life cycle. It knows no protocol rule and no service.
 */
export * from './clock.ts';
export * from './ids.ts';
export * from './kit.ts';
export * from './secret.ts';
export * from './rpc/call.ts';
export * from './data/audit.ts';
export * from './data/database.ts';
export * from './data/redis.ts';
