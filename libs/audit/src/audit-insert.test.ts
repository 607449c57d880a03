import { newDatabaseUrl } from '@tessera/test-kit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock, systemRandom } from '@tessera/kit';
import { openDatabase, type OpenedDatabase } from '@tessera/stores';
import { auditInsert, auditRecords } from './audit-insert.ts';
import { auditRow } from './audit-row.ts';

let database: OpenedDatabase;
beforeAll(async () => {
  database = await openDatabase({ url: await newDatabaseUrl() });
  await database.migration((session) =>
    session.run(`CREATE SCHEMA sample; CREATE TABLE sample.audit_event (event_id text PRIMARY KEY,
      event text NOT NULL, tenant_id text, outcome text NOT NULL, reason text, record jsonb NOT NULL)`),
  );
});
afterAll(() => database.close());

const rejected = { event: 'x.rejected', outcome: 'failure', reason: `it's "odd"`, tenantId: 'acme' } as const;
const done = { event: 'x.done', outcome: 'success', details: { note: '\\ {} $1' } } as const;
const rowsOf = (...events: Parameters<typeof auditRow>[0][]) =>
  events.map((event) => auditRow(event, { clock: systemClock, random: systemRandom }));

describe('auditInsert', () => {
  it('writes what SQL filters by into columns, and everything into the record', async () => {
    const rows = rowsOf(rejected, done);
    await database.query({
      name: 'test.insert',
      text: auditInsert('sample', 'SELECT jsonb_array_elements($1::jsonb)'),
      values: [auditRecords(rows)],
    });
    const written = await database.query({
      name: 'test.written',
      text: 'SELECT event_id, event, tenant_id, outcome, reason, record FROM sample.audit_event ORDER BY event DESC',
    });
    const [first, second] = rows.map(({ eventId, record }) => ({
      event_id: eventId,
      record: JSON.parse(record) as unknown,
    }));
    expect(written.rows).toEqual([
      { ...first, event: 'x.rejected', tenant_id: 'acme', outcome: 'failure', reason: `it's "odd"` },
      { ...second, event: 'x.done', tenant_id: null, outcome: 'success', reason: null },
    ]);
  });

  it('writes nothing in a WITH whose change found no row', async () => {
    const [row] = rowsOf(done);
    const { rowCount } = await database.query({
      name: 'test.insert_none',
      text: `WITH changed AS (SELECT 1 WHERE false)${auditInsert('sample', 'SELECT $1::jsonb FROM changed')}`,
      values: [row?.record],
    });
    expect(rowCount).toBe(0);
  });
});
