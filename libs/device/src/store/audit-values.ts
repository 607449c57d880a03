import type { AuditRow } from '@tessera/audit';

/** The parameters of a statement that writes an audit row, in the order of the columns. */
export function auditValues({ eventId, event, tenantId, outcome, reason, record }: AuditRow): unknown[] {
  return [eventId, event, tenantId, outcome, reason, record];
}
