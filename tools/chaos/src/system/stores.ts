import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { freePort, startRedis } from '@tessera/test-kit/provision';
import type { AuditRow } from '../history/history.ts';

/** Creates a database on a server, and resolves with its address. */
export async function newDatabase(serverUrl: string): Promise<string> {
  const name = `chaos_${randomBytes(4).toString('hex')}`;
  await ask(serverUrl, `CREATE DATABASE ${name}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/** The audit rows of issued access tokens. */
export const auditRows = async (databaseUrl: string): Promise<AuditRow[]> =>
  ask<AuditRow>(
    databaseUrl,
    `SELECT event, coalesce(record -> 'details' ->> 'jti', '') AS jti, record ->> 'requestId' AS "requestId", tenant_id AS tenant
     FROM token.audit_event
     WHERE outcome = 'success' AND event IN ('token.issued', 'refresh.rotated', 'refresh.retried', 'refresh.undelivered')`,
  );

async function ask<R extends pg.QueryResultRow>(url: string, text: string): Promise<R[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<R>(text)).rows;
  } finally {
    await client.end();
  }
}

export type ForgetfulRedis = Awaited<ReturnType<typeof startForgetfulRedis>>;

/** A Redis that loses its data when killed, and comes back at the same address. */
export async function startForgetfulRedis() {
  const options = { port: await freePort(), signal: 'KILL' } as const;
  let server = await startRedis(options);
  return {
    url: server.url,
    kill: async () => server.stop(),
    async comeBackEmpty() {
      server = await startRedis(options);
    },
  };
}
