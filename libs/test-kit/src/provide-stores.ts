import { loggingStatements, startPostgres, type PostgresStore } from './provision/postgres/start-postgres.ts';
import { dropEmbeddedTemplates } from './provision/embedded-database.ts';
import { startRedis } from './provision/redis/start-redis.ts';
import { databasePrefix, dropTestDatabases } from './provision/server.ts';
import type { Store } from './provision/held-process.ts';

export interface Stores {
  readonly postgres: Store & Partial<PostgresStore>;
  readonly redis: Store;
  stop(): Promise<void>;
}

const givenPostgres = (url: string): Stores['postgres'] => ({
  url,
  origin: 'TESSERA_TEST_DATABASE_URL',
  stop: () => dropTestDatabases(url, databasePrefix()),
});

const givenRedis = (url: string): Store => ({ url, origin: 'REDIS_URL', stop: () => Promise.resolve() });

/** Real Postgres and real Redis: those the environment names, else started here. */
export async function provideStores(environment: Record<string, string | undefined>): Promise<Stores> {
  const { TESSERA_TEST_DATABASE_URL: postgresUrl, REDIS_URL: redisUrl } = environment;
  const outcomes = await Promise.allSettled([
    postgresUrl ? givenPostgres(postgresUrl) : startPostgres(loggingStatements),
    redisUrl ? givenRedis(redisUrl) : startRedis(),
  ]);
  const [postgres, redis] = outcomes;
  if (postgres.status === 'fulfilled' && redis.status === 'fulfilled') {
    const stop = async () =>
      void (await Promise.all([postgres.value.stop(), redis.value.stop(), dropEmbeddedTemplates()]));
    return { postgres: postgres.value, redis: redis.value, stop };
  }
  const reasons: unknown[] = [];
  for (const outcome of outcomes) {
    if (outcome.status === 'fulfilled') await outcome.value.stop();
    else reasons.push(outcome.reason);
  }
  throw reasons[0];
}
