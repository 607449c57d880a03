import type { Client } from 'pg';
import { filling, spreadOf, type Filling } from './filling.ts';
import { rowsOfPeople } from './rows-of-people.ts';
import { rowsOfRecords } from './rows-of-records.ts';
import { rowsOfWhatIsIssued } from './rows-of-what-is-issued.ts';

/** Tables that stay small whatever an installation does: a few keys, one row for a horizon, one for each migration. */
export const smallTables: ReadonlySet<string> = new Set([
  'keys.signing_key',
  'keys.audit_event',
  'directory.pepper_check',
  'token.revocation_horizon',
  'authorize.session_end_horizon',
]);

const audited = ['token', 'authorize', 'device', 'directory'];

/**
 * Fills every table that grows: `rows` people, sessions, families and so on, a tenth as many applications and a
 * hundredth as many tenants. Times spread over the last thirty days.
 */
export async function fillTables(client: Client, rows: number): Promise<void> {
  const spread = spreadOf(rows);
  const { earlier, tenant } = spread;
  const fill = ({ table, rows: count, columns }: Filling) =>
    client.query(
      `INSERT INTO ${table} (${Object.keys(columns).join(', ')})
       SELECT ${Object.values(columns).join(', ')} FROM generate_series(0, ${count - 1}) AS i`,
    );
  // References are right by construction; checking each row takes minutes.
  await client.query('SET session_replication_role = replica');
  const auditRows = audited.map((schema) =>
    filling(`${schema}.audit_event`, rows, {
      event_id: `lpad(i::text, 26, '0')`,
      recorded_at: earlier,
      event: `'token.issued'`,
      tenant_id: tenant,
      outcome: `'success'`,
      record: `'{}'`,
    }),
  );
  const others = [...rowsOfRecords(spread), ...rowsOfPeople(spread), ...rowsOfWhatIsIssued(spread)];
  for (const each of [...others, ...auditRows]) await fill(each);
  // Triggers, which do not run here, keep what people are found by.
  await client.query('CALL directory.index_people()');
  await client.query('ANALYZE');
}
