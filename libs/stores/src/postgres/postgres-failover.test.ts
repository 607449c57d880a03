import { startReplicatedPostgres } from '@tessera/test-kit/provision';
import type { ReplicatedPostgres } from '@tessera/test-kit/provision';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { OpenedDatabase } from '../database.ts';
import { openDatabase } from './postgres.ts';

const unavailable = { name: 'OAuthError', code: 'temporarily_unavailable' };
const insert = { name: 'test.insert', text: 'INSERT INTO t VALUES (1) RETURNING inet_server_port() AS port' };

let servers: ReplicatedPostgres;
let closing: (() => Promise<unknown>)[];
beforeEach(async () => {
  closing = [];
  servers = await startReplicatedPostgres();
  closing.push(() => servers.stop());
});
afterEach(async () => {
  for (const close of closing.toReversed()) await close();
});

async function open(url: string): Promise<OpenedDatabase> {
  const database = await openDatabase({ url, maxConnections: 3, acquireTimeoutMs: 1000 });
  closing.push(() => database.close());
  return database;
}

async function ask(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(text)).rows;
  } finally {
    await client.end();
  }
}

const portOf = (url: string): number => Number(new URL(url).port);
const written = async (database: OpenedDatabase): Promise<unknown> =>
  (await database.query<{ port: number }>(insert)).rows[0]?.port;

describe('a primary and its standby', () => {
  it('are distinguished, in whatever order they are listed', async () => {
    const { primary, standby } = servers;
    await ask(primary.url, 'CREATE TABLE t (a int)');
    for (const order of [
      [primary, standby],
      [standby, primary],
    ]) {
      const database = await open(servers.url('postgres', ...order));
      expect(await written(database)).toBe(portOf(primary.url));
    }
  });

  it('change places: calls are refused until the standby was promoted, then served by it, within ten seconds (F6)', async () => {
    const { primary, standby } = servers;
    await ask(primary.url, 'CREATE TABLE t (a int)');
    const database = await open(servers.url('postgres', primary, standby));
    await Promise.all([written(database), written(database), written(database)]);
    await expect.poll(() => ask(standby.url, 'SELECT a FROM t').catch(() => [])).toHaveLength(3);
    await primary.stop();
    for (let i = 0; i < 5; i += 1) await expect(written(database)).rejects.toMatchObject(unavailable);
    await ask(standby.url, 'SELECT pg_promote()');
    const promoted = performance.now();
    await expect
      .poll(() => written(database).catch(() => undefined), { interval: 50 })
      .toBe(portOf(standby.url));
    expect(performance.now() - promoted).toBeLessThan(10_000);
    const held = await Promise.all(Array.from({ length: 10 }, () => written(database)));
    expect(new Set(held)).toEqual(new Set([portOf(standby.url)]));
  });

  it('leave no connection to a primary that became read-only', async () => {
    const { primary, standby } = servers;
    await ask(primary.url, 'CREATE TABLE t (a int)');
    const database = await open(servers.url('postgres', primary, standby));
    expect(await written(database)).toBe(portOf(primary.url));
    await expect.poll(() => ask(standby.url, 'SELECT a FROM t').catch(() => [])).toHaveLength(1);
    await ask(primary.url, 'ALTER SYSTEM SET default_transaction_read_only = on');
    await ask(primary.url, 'SELECT pg_reload_conf()');
    await ask(standby.url, 'SELECT pg_promote()');
    await expect
      .poll(() => written(database).catch(() => undefined), { interval: 50 })
      .toBe(portOf(standby.url));
  });
});
