import { isTracing, traced } from '@tessera/telemetry';
import type { Database, Queryable } from './database.ts';
import type { RedisHandle } from './redis/redis.ts';

/**
 * The same database, with a span for each statement and transaction, by name. Without traces it is returned as it is.
 */
export function traceDatabase(database: Database): Database {
  if (!isTracing()) return database;
  return {
    ...database,
    ...tracedQueryable(database),
    transaction: (work) =>
      traced(clientSpan('postgresql', 'transaction'), () =>
        database.transaction((tx) => work(tracedQueryable(tx))),
      ),
  };
}

function tracedQueryable(target: Queryable): Queryable {
  return {
    query: (given) => traced(clientSpan('postgresql', given.name), () => target.query(given)),
  };
}

/** The same Redis, with a span for each command and script, by name. Without traces it is returned as it is. */
export function traceRedis(redis: RedisHandle): RedisHandle {
  if (!isTracing()) return redis;
  return {
    ...redis,
    script: (source) => {
      const run = redis.script(source);
      return (keys, args) => traced(clientSpan('redis', source.name), () => run(keys, args));
    },
    call: (name, ...args) => traced(clientSpan('redis', name), () => redis.call(name, ...args)),
  };
}

function clientSpan(system: 'postgresql' | 'redis', name: string) {
  const attributes = { 'db.system.name': system, 'db.query.summary': name } as const;
  return { name, kind: 'client', attributes } as const;
}
