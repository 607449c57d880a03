import { auditInsert, auditRecords, auditRows, type AuditEvent } from '@tessera/audit';
import type { Clock, Random } from '@tessera/kit';
import type { Queryable } from '@tessera/stores';

/** What audit rows are made with. */
export interface AuditRuntime {
  readonly clock: Clock;
  readonly random: Random;
}

/** Records events in the transaction of the change. */
export async function insertAuditRows(
  tx: Queryable,
  events: readonly AuditEvent[],
  runtime: AuditRuntime,
): Promise<void> {
  await tx.query({
    name: 'directory.append_audit',
    text: auditInsert('directory', 'SELECT jsonb_array_elements($1::jsonb)'),
    values: [auditRecords(auditRows(events, runtime))],
  });
}
