import { randomBytes } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openDatabase, openEmbeddedDatabase, openRedis } from '@tessera/stores';
import { Secret } from '@tessera/kit';
import type { Database, Migrations, OpenedDatabase, RedisHandle } from '@tessera/stores';
import { Redis } from 'ioredis';
import { createCertificates } from './certificates/authority.ts';
import { atEndOfFile } from './cleanup.ts';
import { copyEmbeddedDatabase } from './provision/embedded-database.ts';
import { everyMigration } from './provision/migrations.ts';
import { createDatabase, createDatabaseInEncoding } from './provision/postgres/create-database.ts';
import { startRedisCluster } from './provision/redis/redis-cluster.ts';
import { requiredUrl, runsEverything } from './provision/urls.ts';

export { runsEverything };

/** The machine has other tests to run at the same time; the time-outs themselves have tests of their own. */
const patienceMs = 20_000;

/** Address of the Postgres server the tests run on; its own database stays empty. */
export const postgresUrl = (): string => requiredUrl('TESSERA_TEST_DATABASE_URL');

/** Address of the Redis server the tests run on, shared by all of them. */
export const redisUrl = (): string => requiredUrl('TESSERA_TEST_REDIS_URL');

/** Address of a fresh Postgres database with the migrations applied, dropped when the test file has ended. */
export async function newDatabaseUrl(...migrations: readonly Migrations[]): Promise<string> {
  const database = await createDatabase(...migrations);
  atEndOfFile(() => database.drop());
  return database.url;
}

/** Address of an empty Postgres database in an encoding such as `LATIN1`, dropped when the test file has ended. */
export async function newDatabaseUrlInEncoding(encoding: string): Promise<string> {
  const database = await createDatabaseInEncoding(encoding);
  atEndOfFile(() => database.drop());
  return database.url;
}

/** As that of an installation: with every migration applied, which a start would take seconds for. */
export const installedDatabaseUrl = async (): Promise<string> => newDatabaseUrl(...everyMigration());

/** A fresh Postgres database with the migrations applied, closed and dropped when the test file has ended. */
export async function testDatabase(...migrations: readonly Migrations[]): Promise<Database> {
  const url = await newDatabaseUrl(...migrations);
  const database = await openDatabase({ url, acquireTimeoutMs: patienceMs, statementTimeoutMs: patienceMs });
  atEndOfFile(() => database.close());
  return database;
}

/** A fresh embedded database with the migrations applied, closed and removed when the test file has ended. */
export async function testEmbeddedDatabase(...migrations: readonly Migrations[]): Promise<OpenedDatabase> {
  const parent = await mkdtemp(join(tmpdir(), 'tessera-embedded-'));
  atEndOfFile(() => rm(parent, { recursive: true }));
  const directory = join(parent, 'database');
  await copyEmbeddedDatabase(directory, migrations);
  const database = await openEmbeddedDatabase(directory);
  atEndOfFile(() => database.close());
  return database;
}

/** Real Redis under a key prefix of its own, emptied and closed when the test file has ended. */
export async function testRedis(): Promise<RedisHandle> {
  const keyPrefix = `test:${randomBytes(8).toString('hex')}:`;
  const redis = await openRedis({ url: redisUrl(), keyPrefix, commandTimeoutMs: patienceMs });
  atEndOfFile(async () => {
    await redis.close();
    await deleteKeys(keyPrefix);
  });
  return redis;
}

/** A cluster of its own for the test file, met over TLS. Takes seconds to start: ask once. */
export async function testRedisCluster(): Promise<RedisHandle> {
  const directory = await mkdtemp(join(tmpdir(), 'tessera-redis-cluster-'));
  atEndOfFile(() => rm(directory, { recursive: true }));
  const { ca, certificates } = await createCertificates(directory, ['redis']);
  const { cert = '', key = '' } = certificates['redis'] ?? {};
  const cluster = await startRedisCluster({ tls: { ca, cert, key } });
  atEndOfFile(() => cluster.stop());
  const tls = { ca: await readFile(ca, 'utf8'), cert: await readFile(cert, 'utf8') };
  const redis = await openRedis({
    url: cluster.url,
    tls: { ...tls, key: new Secret(await readFile(key, 'utf8')) },
    keyPrefix: 'test:',
    commandTimeoutMs: patienceMs,
  });
  atEndOfFile(() => redis.close());
  return redis;
}

async function deleteKeys(prefix: string): Promise<void> {
  const redis = new Redis(redisUrl());
  try {
    for await (const keys of redis.scanStream({ match: `${prefix}*`, count: 1000 }) as AsyncIterable<
      string[]
    >) {
      if (keys.length > 0) await redis.del(...keys);
    }
  } finally {
    redis.disconnect();
  }
}
