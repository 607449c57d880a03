import { auditRow, type AuditEvent } from '@tessera/audit';
import type { Clock, Random } from '@tessera/kit';
import type { Queryable } from '@tessera/stores';

/** What audit rows are made with. */
export interface AuditRuntime {
  readonly clock: Clock;
  readonly random: Random;
}

/** Records events in the transaction of the change. */
export async function appendEvents(
  tx: Queryable,
  events: readonly AuditEvent[],
  runtime: AuditRuntime,
): Promise<void> {
  await tx.query({
    name: 'directory.append_audit',
    text: `INSERT INTO directory.audit_event (event_id, event, tenant_id, outcome, reason, record)
           SELECT e."eventId", e.event, e."tenantId", e.outcome, e.reason, e.record::jsonb
             FROM jsonb_to_recordset($1::jsonb)
               AS e("eventId" text, event text, "tenantId" text, outcome text, reason text, record text)`,
    values: [JSON.stringify(events.map((event) => auditRow(event, runtime)))],
  });
}
