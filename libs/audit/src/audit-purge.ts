import type { Logger } from 'pino';
import { ulidTime, type Clock } from '@tessera/kit';
import { startPurge, type Purge, type Database } from '@tessera/stores';

/** Which rows: those of one schema that are older than the retention. */
export interface AuditPurgeDeps {
  readonly database: Database;
  readonly schema: string;
  readonly retentionSeconds: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Removes audit rows that are older than the retention, by the clock of the database. Identifiers begin with the time
 * of their process, so the table needs no index for this.
 */
export function startAuditPurge(deps: AuditPurgeDeps): Purge {
  const { schema, log } = deps;
  const purge = (limit: number) => purgeAudit(deps, limit);
  return startPurge({ purge }, { what: `audit rows of ${schema}`, log });
}

/** Removes up to `limit` rows; resolves with how many. */
export async function purgeAudit(
  { database, schema, retentionSeconds, clock }: Omit<AuditPurgeDeps, 'log'>,
  limit: number,
): Promise<number> {
  const { rowCount } = await database.query({
    name: `audit.${schema}.purge`,
    text: `DELETE FROM ${schema}.audit_event WHERE event_id IN (
             SELECT event_id FROM ${schema}.audit_event
              WHERE event_id < $1 AND recorded_at < statement_timestamp() - make_interval(secs => $2::float8)
              ORDER BY event_id LIMIT $3::int FOR UPDATE SKIP LOCKED)`,
    values: [ulidTime(clock.now() - retentionSeconds * 1000), retentionSeconds, limit],
  });
  return rowCount;
}
