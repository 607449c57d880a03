import type { Database, Queryable } from './database.ts';
import type { RedisHandle } from './redis/redis.ts';
import { activeTracer } from '@tessera/telemetry';
import type { Tracer } from '@tessera/telemetry';

/** The same database, with a span for each statement and transaction, by name. Without traces it is the very one. */
export function traceDatabase(database: Database): Database {
  const tracer = activeTracer();
  if (tracer === undefined) return database;
  return {
    ...database,
    ...tracedQueryable(database, tracer),
    transaction: (work) =>
      tracer.inChild(statement('transaction'), () =>
        database.transaction((tx) => work(tracedQueryable(tx, tracer))),
      ),
  };
}

function tracedQueryable(target: Queryable, tracer: Tracer): Queryable {
  return {
    query: (given) => tracer.inChild(statement(given.name), () => target.query(given)),
  };
}

function statement(name: string) {
  const attributes = { 'db.system.name': 'postgresql', 'db.query.summary': name } as const;
  return { name, kind: 'client', attributes } as const;
}

/** The same Redis, with a span for each command and script, by name. Without traces it is the very one. */
export function traceRedis(redis: RedisHandle): RedisHandle {
  const tracer = activeTracer();
  if (tracer === undefined) return redis;
  return {
    ...redis,
    script: (source) => {
      const run = redis.script(source);
      return (keys, args) => tracer.inChild(command(source.name), () => run(keys, args));
    },
    call: (name, ...args) => tracer.inChild(command(name), () => redis.call(name, ...args)),
  };
}

function command(name: string) {
  const attributes = { 'db.system.name': 'redis', 'db.query.summary': name } as const;
  return { name, kind: 'client', attributes } as const;
}
