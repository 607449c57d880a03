import { systemRandom } from '@tessera/kit';
import { AuditService } from '@tessera/proto-gen/admin-audit';
import { local, rootCall, type Route } from '@tessera/rpc';
import { openDatabase, type OpenedDatabase } from '@tessera/stores';
import { atEndOfFile, newDatabaseUrl, testEmbeddedDatabase, runsEverything } from '@tessera/test-kit';
import { beforeAll, describe, expect, it } from 'vitest';
import { auditInsert, auditRecords } from '../audit-insert.ts';
import { auditRow, type AuditEvent } from '../audit-row.ts';
import { auditRoute } from './search-audit.ts';

const table = `CREATE SCHEMA sample; CREATE TABLE sample.audit_event (event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(), event text NOT NULL, tenant_id text,
  outcome text NOT NULL, reason text, record jsonb NOT NULL)`;

const noon = Date.UTC(2026, 0, 2, 12);
const at = (seconds: number) => ({ seconds: BigInt(noon / 1000 + seconds), nanos: 0 });

/** One event each second, from noon on. */
const events: readonly AuditEvent[] = [
  {
    event: 'user.created',
    outcome: 'success',
    tenantId: 'acme',
    subject: 'ada',
    actor: { type: 'client', id: 'robot', tenantId: 'ops' },
  },
  {
    event: 'auth.login.failed',
    outcome: 'failure',
    reason: 'wrong_credentials',
    tenantId: 'acme',
    clientId: 'web',
    ipAddress: '192.0.2.1',
  },
  {
    event: 'session.created',
    outcome: 'success',
    tenantId: 'acme',
    subject: 'ada',
    sessionId: 's1',
    actor: { type: 'user', id: 'ada' },
  },
  { event: 'user.created', outcome: 'success', tenantId: 'globex', subject: 'gus', requestId: 'r1' },
  {
    event: 'user.updated',
    outcome: 'success',
    tenantId: 'acme',
    subject: 'bob',
    grantId: 'g1',
    details: { changed: 'name' },
  },
  { event: 'key.retired', outcome: 'success', details: { kid: 'k1' }, actor: { type: 'system', id: 'keys' } },
];

const engines: readonly [string, () => Promise<OpenedDatabase>][] = [
  [
    'Postgres',
    async () => {
      const database = await openDatabase({ url: await newDatabaseUrl() });
      atEndOfFile(() => database.close());
      return database;
    },
  ],
  ...(runsEverything
    ? [['embedded PGlite', async () => testEmbeddedDatabase()] as [string, () => Promise<OpenedDatabase>]]
    : []),
];

describe.each(engines)('a search of the audit trail on %s', (_engine, open) => {
  let database: OpenedDatabase;
  beforeAll(async () => {
    database = await open();
    await database.migration((session) => session.run(table));
    const written = events.map((event, second) =>
      auditRow(event, { clock: { now: () => noon + second * 1000 }, random: systemRandom }),
    );
    await database.query({
      name: 'test.events',
      text: auditInsert('sample', 'SELECT jsonb_array_elements($1::jsonb)'),
      values: [auditRecords(written)],
    });
  });

  const client = (rowsAtOnce?: number) => {
    const routes: Route[] = [auditRoute(database, 'sample', rowsAtOnce)];
    const built = { name: 'directory', routes, ready: async () => {}, close: async () => {} } as const;
    return local(AuditService, built, 'admin');
  };
  const search = async (request: object, rowsAtOnce?: number) =>
    client(rowsAtOnce).search(request, rootCall('test'));
  const found = async (request: object) => (await search(request)).events.map(({ event }) => event);

  it('finds everything, the latest first, with all that was recorded', async () => {
    expect(await found({})).toEqual(events.map(({ event }) => event).toReversed());
    const { events: first } = await search({ about: 'ada', event: 'user.created' });
    expect(first).toMatchObject([
      {
        event: 'user.created',
        outcome: 'success',
        tenantId: 'acme',
        subject: 'ada',
        actor: { type: 'client', id: 'robot', tenantId: 'ops' },
        time: at(0),
        eventId: expect.stringMatching(/^[0-9A-Z]{26}$/) as string,
      },
    ]);
  });

  it.each([
    ['a tenant', { tenantId: 'globex' }, ['user.created']],
    ['an event', { event: 'user.updated' }, ['user.updated']],
    ['events with one beginning', { event: 'user.' }, ['user.updated', 'user.created', 'user.created']],
    ['no part of a name', { event: 'user' }, []],
    ['who did it', { actor: 'ada' }, ['session.created']],
    ['a person', { about: 'ada' }, ['session.created', 'user.created']],
    ['a client', { about: 'web' }, ['auth.login.failed']],
    ['a session', { about: 's1' }, ['session.created']],
    ['a grant', { about: 'g1' }, ['user.updated']],
    ['a request', { about: 'r1' }, ['user.created']],
    ['a value of the details', { about: 'k1' }, ['key.retired']],
    ['refusals', { outcome: 'failure' }, ['auth.login.failed']],
    ['a time', { startTime: at(1), endTime: at(3) }, ['session.created', 'auth.login.failed']],
    ['several of them', { tenantId: 'acme', about: 'ada', startTime: at(1) }, ['session.created']],
    ['somebody of another tenant', { tenantId: 'globex', about: 'ada' }, []],
  ])('finds by %s', async (_what, request, expected) => {
    expect(await found(request)).toEqual(expected);
  });

  it.each([1, 2, 20_000])(
    'finds each event once, page by page, looking through %i rows at once',
    async (rows) => {
      for (const request of [
        {},
        { tenantId: 'acme' },
        { about: 'ada', startTime: at(0) },
        { about: 'nobody' },
      ]) {
        const all: string[] = [];
        let pageToken = '';
        do {
          const page = await search({ ...request, pageSize: 2, pageToken }, rows);
          expect(page.events.length).toBeLessThanOrEqual(2);
          all.push(...page.events.map(({ event }) => event));
          pageToken = page.nextPageToken;
        } while (pageToken !== '');
        expect(all).toEqual(await found(request));
      }
    },
  );

  it('refuses the token of another search, and what is none', async () => {
    const { nextPageToken: pageToken } = await search({ tenantId: 'acme', pageSize: 1 });
    const refused = { rawMessage: expect.stringContaining('belongs to another search') as string };
    await expect(search({ tenantId: 'globex', pageToken })).rejects.toMatchObject(refused);
    await expect(search({ pageToken: 'x' })).rejects.toThrow('invalid_argument');
  });
});
