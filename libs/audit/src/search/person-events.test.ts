import { openDatabase } from '@tessera/stores';
import { atEndOfFile, newDatabaseUrl } from '@tessera/test-kit';
import { expect, it } from 'vitest';
import { personEvents } from './person-events.ts';

const shown = { schema: 'directory', events: ['auth.factor.added', 'auth.factor.removed'] };

const table = `CREATE SCHEMA directory; CREATE TABLE directory.audit_event (event_id text PRIMARY KEY,
  recorded_at timestamptz NOT NULL DEFAULT clock_timestamp(), event text NOT NULL, tenant_id text,
  outcome text NOT NULL, reason text, record jsonb NOT NULL);
  INSERT INTO directory.audit_event (event_id, event, tenant_id, outcome, record)
  SELECT lpad(i::text, 26, '0'), CASE i % 3 WHEN 0 THEN 'auth.factor.added' WHEN 1 THEN 'auth.factor.removed' ELSE 'token.issued' END,
         'acme', 'success', jsonb_build_object('subject', 'u' || i % 4000, 'eventId', i::text)
  FROM generate_series(1, 20000) AS i;
  CREATE INDEX audit_event_of_person ON directory.audit_event (tenant_id, (record ->> 'subject'), event_id)
  WHERE event IN ('auth.factor.added', 'auth.factor.removed', 'auth.provider.linked');
  ANALYZE directory.audit_event`;

it('finds the latest events about a person by the index alone, and of no other kind', async () => {
  const database = await openDatabase({ url: await newDatabaseUrl() });
  atEndOfFile(() => database.close());
  await database.migration((session) => session.run(table));
  const asked: { readonly text: string; readonly values?: readonly unknown[] }[] = [];
  const query: typeof database.query = async (statement) => {
    asked.push(statement);
    return database.query(statement);
  };
  const list = async (userId: string, tenantId = 'acme') =>
    (await personEvents({ query }, shown, { tenantId, userId, limit: 2 })).map(({ eventId }) => eventId);
  const numbers = [7, 4007, 8007, 12_007, 16_007].filter((number) => number % 3 !== 2).toReversed();
  expect(await list('u7')).toEqual(numbers.slice(0, 2).map(String));
  expect(await list('nobody')).toEqual([]);
  expect(await list('u7', 'globex')).toEqual([]);
  const [{ text } = { text: '' }] = asked;
  const { rows } = await database.query({
    name: 'test.explain_person_events',
    text: `EXPLAIN ${text}`,
    values: ['acme', 'u7', 2],
  });
  expect(JSON.stringify(rows)).toContain('audit_event_of_person');
});
