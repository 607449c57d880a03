import type { Database } from '@tessera/stores';
import type { AuditEvent } from '../audit-row.ts';

/** An event, with its identifier and its time by the clock of the process. */
export type PersonEvent = AuditEvent & { readonly eventId: string; readonly time: string };

/**
 * The latest events about a person, the latest first. The schema needs an index of tenant, subject and identifier for
 * these events; the planner takes it because their names are in the statement, which has a name for each list of them.
 */
export async function personEvents(
  database: Pick<Database, 'query'>,
  {
    schema,
    events,
    statement = 'person_events',
  }: { readonly schema: string; readonly events: readonly string[]; readonly statement?: string },
  { tenantId, userId, limit }: { readonly tenantId: string; readonly userId: string; readonly limit: number },
): Promise<PersonEvent[]> {
  const names = events.map((event) => `'${event}'`).join(', ');
  const { rows } = await database.query<{ record: PersonEvent }>({
    name: `audit.${schema}.${statement}`,
    text: `SELECT record FROM ${schema}.audit_event
            WHERE tenant_id = $1 AND record ->> 'subject' = $2 AND event IN (${names})
            ORDER BY event_id DESC LIMIT $3::int`,
    values: [tenantId, userId, limit],
  });
  return rows.map(({ record }) => record);
}
