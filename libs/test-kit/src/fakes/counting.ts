import type { Database, Queryable, RedisHandle } from '@tessera/stores';

/** What went through a handle since the last reset. */
export interface Counter {
  /** Round trips: one per statement, command or script; a transaction adds two, for its beginning and its end. */
  readonly count: number;
  /** Names of the statements, commands and scripts in order, so that a broken budget says what broke it. */
  readonly names: readonly string[];
  reset(): void;
}

export function counting(handle: Database): Database & Counter;
export function counting(handle: RedisHandle): RedisHandle & Counter;
export function counting(handle: Database | RedisHandle): (Database | RedisHandle) & Counter {
  return 'engine' in handle ? countingDatabase(handle) : countingRedis(handle);
}

function countingDatabase(database: Database): Database & Counter {
  let names: string[] = [];
  const counted = (inner: Queryable): Queryable => ({
    query: (statement) => {
      names.push(statement.name);
      return inner.query(statement);
    },
  });
  return {
    engine: database.engine,
    query: (statement) => counted(database).query(statement),
    transaction: (work) =>
      database.transaction(async (tx) => {
        names.push('BEGIN');
        try {
          return await work(counted(tx));
        } finally {
          names.push('COMMIT');
        }
      }),
    listen: (record, heard) => database.listen(record, heard),
    close: () => database.close(),
    get count() {
      return names.length;
    },
    get names() {
      return names;
    },
    reset: () => void (names = []),
  };
}

function countingRedis(redis: RedisHandle): RedisHandle & Counter {
  let names: string[] = [];
  return {
    script: (source) => {
      const run = redis.script(source);
      return (keys, args) => {
        names.push(source.name);
        return run(keys, args);
      };
    },
    call: (command, ...args) => {
      names.push(command);
      return redis.call(command, ...args);
    },
    spansSlots: redis.spansSlots,
    close: () => redis.close(),
    get count() {
      return names.length;
    },
    get names() {
      return names;
    },
    reset: () => void (names = []),
  };
}
