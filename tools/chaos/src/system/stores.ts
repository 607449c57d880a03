import { randomBytes } from 'node:crypto';
import pg from 'pg';
import {
  freePort,
  type RestartableStore,
  startRedis,
  startRestartablePostgres,
} from '@tessera/test-kit/provision';
import type { AuditRow } from '../history/history.ts';

type Redis = Awaited<ReturnType<typeof startRedis>>;

/** Postgres for the whole run, which can be stopped, with a database for each scenario. */
export class PostgresServer {
  readonly #server: RestartableStore;

  private constructor(server: RestartableStore) {
    this.#server = server;
  }

  static async start(): Promise<PostgresServer> {
    return new PostgresServer(await startRestartablePostgres());
  }

  async newDatabase(): Promise<string> {
    const name = `chaos_${randomBytes(4).toString('hex')}`;
    await this.#ask(this.#server.url, `CREATE DATABASE ${name}`);
    const url = new URL(this.#server.url);
    url.pathname = `/${name}`;
    return url.href;
  }

  /** The audit rows of issued access tokens. */
  async auditRows(databaseUrl: string): Promise<AuditRow[]> {
    return this.#ask<AuditRow>(
      databaseUrl,
      `SELECT event, coalesce(record -> 'details' ->> 'jti', '') AS jti, record ->> 'requestId' AS "requestId", tenant_id AS tenant
       FROM token.audit_event
       WHERE outcome = 'success' AND event IN ('token.issued', 'refresh.rotated', 'refresh.retried', 'refresh.undelivered')`,
    );
  }

  shutDown(how: 'fast' | 'immediate'): Promise<void> {
    return this.#server.shutDown(how);
  }

  comeBack(): Promise<void> {
    return this.#server.start();
  }

  stop(): Promise<void> {
    return this.#server.stop();
  }

  async #ask<R extends pg.QueryResultRow>(url: string, text: string): Promise<R[]> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query<R>(text)).rows;
    } finally {
      await client.end();
    }
  }
}

/** A Redis of one scenario, which loses its data when killed. */
export class RedisServer {
  readonly #port: number;
  #server: Redis;

  private constructor(port: number, server: Redis) {
    this.#port = port;
    this.#server = server;
  }

  static async start(): Promise<RedisServer> {
    const port = await freePort();
    return new RedisServer(port, await startRedis({ port, signal: 'KILL' }));
  }

  get url(): string {
    return this.#server.url;
  }

  kill(): Promise<void> {
    return this.#server.stop();
  }

  async comeBackEmpty(): Promise<void> {
    this.#server = await startRedis({ port: this.#port, signal: 'KILL' });
  }
}
