import type { AuditRow } from './audit-row.ts';

/**
 * The `INSERT` of audit rows, also for a `WITH`. `records` is a query with one column, the record as `jsonb`; the
 * columns repeat what SQL filters by. `OFFSET 0` computes each record once, not once for each column.
 */
export function auditInsert(schema: string, records: string): string {
  return `
    INSERT INTO ${schema}.audit_event (event_id, event, tenant_id, outcome, reason, record)
    SELECT r ->> 'eventId', r ->> 'event', r ->> 'tenantId', r ->> 'outcome', r ->> 'reason', r
    FROM (${records} OFFSET 0) AS written(r)`;
}

/** Rows as the parameter `$n` of a statement; `SELECT jsonb_array_elements($n::jsonb)` are their records. */
export function auditRecords(rows: readonly AuditRow[]): string {
  // One value: a list of parameters would be escaped element by element.
  return `[${rows.map(({ record }) => record).join(',')}]`;
}
