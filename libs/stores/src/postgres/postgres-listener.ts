import type { PoolClient } from 'pg';
import type { Logger } from 'pino';
import { repeat, within, type Repetition } from '@tessera/kit';
import { channel, Listeners } from '../feed/announcements.ts';
import type { Listening } from '../database.ts';

/** How long `LISTEN`, and then the announcement that proves the way, may take. */
const proofMs = 2_000;
const shortestPauseMs = 1_000;
const longestPauseMs = 60_000;

export interface PostgresListener {
  listen(record: string, heard: () => void): Listening;
  close(): Promise<void>;
}

interface ListenerDeps {
  /** A connection that is kept for as long as it works. */
  readonly connect: () => Promise<PoolClient>;
  /** Notifies the channel, by another connection. */
  readonly notify: (payload: string) => Promise<unknown>;
  readonly log: Logger | undefined;
}

/**
 * Hears announcements on one connection of its own, which it opens for the first listener and replaces when it ends.
 * Behind a pooler that lends connections for a transaction LISTEN succeeds and nothing is ever heard, so the way is
 * proven first.
 */
export function createPostgresListener({ connect, notify, log }: ListenerDeps): PostgresListener {
  const listeners = new Listeners();
  const closing = new AbortController();
  const { signal } = closing;
  let hears = false;
  let running: Repetition | undefined;
  let renewal = new AbortController();

  /** Resolves when the connection ends or is to be replaced. */
  async function hear(client: PoolClient): Promise<void> {
    const ended = Promise.withResolvers<void>();
    const proof = Promise.withResolvers<void>();
    const proofName = `proof.${crypto.randomUUID()}`;
    renewal = new AbortController();
    const ending = AbortSignal.any([signal, renewal.signal]);
    ending.addEventListener('abort', () => ended.resolve(), { once: true });
    // Closed while it connected.
    if (ending.aborted) return;
    client.once('end', () => ended.resolve());
    client.on('notification', ({ payload = '' }) => {
      if (payload === proofName) proof.resolve();
      else listeners.announce(payload);
    });
    // A server that hangs must not keep the listener, nor its close, for ever.
    await within(proofMs, client.query(`LISTEN ${channel}`));
    await notify(proofName);
    const proven = await within(proofMs, Promise.race([proof.promise.then(() => true), ended.promise]));
    if (proven !== true) return;
    hears = true;
    // What changed before was not heard.
    listeners.announceAll();
    await ended.promise;
  }

  async function connectAndHear(): Promise<void> {
    const client = await connect();
    try {
      await hear(client);
    } finally {
      client.removeAllListeners('notification');
      client.release(true);
      hears = false;
      listeners.announceAll();
    }
  }

  const start = () =>
    repeat(connectAndHear, {
      pauseMs: (failures) => Math.min(longestPauseMs, shortestPauseMs * 2 ** Math.min(failures, 10)),
      onError(error, failures) {
        if (failures > 1) return;
        log?.info(
          { err: error },
          'cannot hear announcements of Postgres; changes are read ten times a second',
        );
      },
    });

  return {
    listen(record, heard) {
      const close = listeners.add(record, heard);
      running ??= start();
      return {
        get hears() {
          return hears;
        },
        renew() {
          hears = false;
          renewal.abort();
        },
        close,
      };
    },
    async close() {
      closing.abort();
      await running?.close();
    },
  };
}
