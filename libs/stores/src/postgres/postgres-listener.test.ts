import { EventEmitter } from 'node:events';
import type { PoolClient } from 'pg';
import { newDatabaseUrl, waitFor } from '@tessera/test-kit';
import { afterAll, describe, expect, it, vi } from 'vitest';
import type { OpenedDatabase } from '../database.ts';
import { createPools } from './postgres-pools.ts';
import { createPostgresListener } from './postgres-listener.ts';
import { openDatabase } from './postgres.ts';

const closing: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const close of closing.toReversed()) await close();
});

async function open(): Promise<OpenedDatabase> {
  const database = await openDatabase({ url: await newDatabaseUrl(), maxConnections: 2 });
  closing.push(() => database.close());
  return database;
}

const notify = {
  name: 'test.notify',
  text: `SELECT pg_notify('tessera_change', 'test.record')`,
};
const endListener = {
  name: 'test.end_listener',
  text: `SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
         WHERE datname = current_database() AND query = 'LISTEN tessera_change'`,
};

describe('a listener of Postgres', () => {
  it('tells its listeners when its connection ends, and hears again by another one', async () => {
    const database = await open();
    const heard = vi.fn<() => void>();
    const listening = database.listen('test.record', heard);
    await waitFor(() => expect(listening.hears).toBe(true));
    heard.mockClear();
    expect((await database.query(endListener)).rows).toEqual([{ ended: true }]);
    await waitFor(() => expect(heard).toHaveBeenCalled());
    await waitFor(() => expect(listening.hears).toBe(true));
    heard.mockClear();
    await database.query(notify);
    await waitFor(() => expect(heard).toHaveBeenCalledOnce());
  });

  it('replaces its connection when a listener missed an announcement', async () => {
    const database = await open();
    const listening = database.listen('test.record', () => undefined);
    await waitFor(() => expect(listening.hears).toBe(true));
    listening.renew();
    expect(listening.hears).toBe(false);
    await waitFor(() => expect(listening.hears).toBe(true));
  });

  it('can be closed while the server does not answer LISTEN', async () => {
    const answer = Promise.withResolvers<never>();
    const query = vi.fn<() => Promise<never>>(() => answer.promise);
    const client = Object.assign(new EventEmitter(), { query, release: vi.fn<(broken: boolean) => void>() });
    const listener = createPostgresListener({
      connect: () => Promise.resolve(client as unknown as PoolClient),
      notify: () => Promise.resolve(),
      log: undefined,
    });
    const listening = listener.listen('test.record', () => undefined);
    await waitFor(() => expect(query).toHaveBeenCalled());
    await listener.close();
    expect(listening.hears).toBe(false);
    expect(client.release).toHaveBeenCalledWith(true);
  });

  it('can be closed while it connects', async () => {
    const database = await openDatabase({ url: await newDatabaseUrl() });
    database.listen('test.record', () => undefined);
    await database.close();
  });

  it('takes no connection of the pool', async () => {
    const database = await open();
    const listening = database.listen('test.record', () => undefined);
    await waitFor(() => expect(listening.hears).toBe(true));
    const one = { name: 'test.one', text: 'SELECT 1' };
    await database.transaction(() =>
      database.transaction(async (tx) => tx.query(one)).catch(() => undefined),
    );
    const { rows } = await database.query<{ count: number }>({
      name: 'test.connections',
      text: `SELECT count(*)::int FROM pg_stat_activity WHERE datname = current_database() AND query = 'LISTEN tessera_change'`,
    });
    expect(rows).toEqual([{ count: 1 }]);
  });

  it('hears nothing as long as no announcement arrives, as behind a pooler of transactions', async () => {
    const pools = createPools([await newDatabaseUrl()], { max: 1 });
    const unheard = vi.fn<() => Promise<void>>(() => Promise.resolve());
    const listener = createPostgresListener({
      connect: () => pools.connect(),
      notify: unheard,
      log: undefined,
    });
    const listening = listener.listen('test.record', () => undefined);
    await waitFor(() => expect(unheard.mock.calls.length).toBeGreaterThan(1));
    expect(listening.hears).toBe(false);
    await listener.close();
    await pools.end();
  });
});
