import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installedDatabaseUrl, redisUrl } from '@tessera/test-kit';
import { people } from '../../harness/declared-state.ts';
import { eventually } from '@tessera/test-kit/provision';
import { leaks, revoke, tokensOf } from '@tessera/test-client';
import { authorizeQuery, clientCredentials, codeFor, redeem, refresh } from '../../harness/flows.ts';
import { setUps, type System } from '../../harness/set-up.ts';
import { startSystem } from '../../harness/start.ts';

interface AuditRow {
  readonly event: string;
  readonly outcome: string;
  readonly record: Readonly<Record<string, unknown>>;
}

const schemas = ['authorize', 'token', 'device', 'directory', 'keys'];

/** The audit tables, read by an operator while the system runs. */
describe('the audit trail of a compact system on real stores', () => {
  let system: System;
  let database: pg.Client;

  beforeAll(async () => {
    const databaseUrl = await installedDatabaseUrl();
    database = new pg.Client(databaseUrl);
    await database.connect();
    system = await startSystem(setUps.compact, { stores: { databaseUrl, redisUrl: redisUrl() } });
  });
  afterAll(async () => {
    await system?.stop();
    await database?.end();
  });

  async function rows(...events: string[]): Promise<AuditRow[]> {
    const select = schemas.map(
      (schema) => `SELECT event, outcome, recorded_at, record FROM ${schema}.audit_event`,
    );
    const { rows: found } = await database.query<AuditRow>(
      `SELECT event, outcome, record FROM (${select.join(' UNION ALL ')}) AS every WHERE event = ANY($1) ORDER BY recorded_at`,
      [events],
    );
    return found;
  }

  it('tells a revocation with its reason and the address of the connection, once, never the one a caller sends', async () => {
    const { http } = system;
    const tokens = tokensOf(await redeem(http, await codeFor(system.person())));
    const body = { token: tokens.refreshToken, reasonRevoked: 'lost phone', ipAddress: '203.0.113.9' };
    for (let time = 0; time < 2; time += 1) {
      expect((await http.ask('DELETE', '/revoke', { json: body })).status).toBe(200);
    }
    const found = await rows('token.revoked');
    expect(found).toHaveLength(1);
    expect(JSON.stringify(found[0]?.record)).toContain('lost phone');
    expect(JSON.stringify(found[0]?.record)).not.toContain('203.0.113.9');
    expect(found[0]?.record['ipAddress']).toBe('127.0.0.1');
  });

  it('tells each step of a sign-in, an exchange, a refresh and a reuse', async () => {
    const { http } = system;
    const person = system.person();
    const code = await codeFor(person);
    const first = tokensOf(await redeem(http, code));
    const second = tokensOf(await refresh(http, first.refreshToken));
    tokensOf(await refresh(http, second.refreshToken));
    expect((await refresh(http, first.refreshToken)).status).toBe(400);
    await person.get('/logout?client_id=acme-web');
    const expected = [
      'auth.login.succeeded',
      'session.created',
      'code.redeemed',
      'refresh.rotated',
      'refresh.reuse_detected',
      'refresh.family_revoked',
      'session.ended',
    ];
    const events = new Set((await rows(...expected)).map(({ event }) => event));
    expect([...events].toSorted()).toEqual(expected.toSorted());
  });

  it('tells refusals and service tokens within about a second', async () => {
    const { http } = system;
    await clientCredentials(http);
    await clientCredentials(http, 'acme-service', 'contract', { clientSecret: 'w'.repeat(43) });
    const person = system.person();
    const started = await person.get(`/authorize?${authorizeQuery()}`);
    await person.submit(started.header('location') ?? '', {
      identifier: 'ada',
      password: 'not-her-password',
    });
    await eventually('the rows are there', async () => {
      const events = new Set(
        (await rows('token.issued', 'client.auth_failed', 'token.denied', 'auth.login.failed')).map(
          ({ event }) => event,
        ),
      );
      return events.has('token.issued') && events.has('auth.login.failed') && events.size >= 3;
    });
  });

  it('holds none of the values that were used', async () => {
    const { http } = system;
    const tokens = tokensOf(await redeem(http, await codeFor(system.person())));
    await revoke(http, tokens.refreshToken, 'done');
    const everything = JSON.stringify(await allRecords());
    expect(leaks(everything, http.seen)).toEqual([]);
    const chosen = Object.values(people).map(({ password }) => password);
    expect(chosen.filter((value) => everything.includes(value)).length).toBe(0);
  });

  async function allRecords(): Promise<unknown[]> {
    const select = schemas.map((schema) => `SELECT event, record FROM ${schema}.audit_event`);
    const { rows: found } = await database.query<AuditRow>(select.join(' UNION ALL '));
    expect(found.length).toBeGreaterThan(20);
    return found;
  }
});
