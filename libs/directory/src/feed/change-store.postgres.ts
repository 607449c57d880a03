import type { Database } from '@tessera/stores';
import type { ChangeStore, SequencedChange } from './change-store.ts';

/** The change feed in Postgres or PGlite. */
export function createChangeStore(database: Database): ChangeStore {
  return {
    listen: (heard) => database.listen('directory.change', heard),
    async newestChange() {
      const { rows } = await database.query<{ sequence: number }>({
        name: 'directory.newest_change',
        text: 'SELECT coalesce(max(sequence), 0) AS sequence FROM directory.change',
      });
      return rows[0]?.sequence ?? 0;
    },

    // Old rows go from the oldest, so nothing is missing behind the position before the oldest one on record.
    async canResumeAfter(sequence) {
      const { rows } = await database.query<{ resumable: boolean | null }>({
        name: 'directory.can_resume_after',
        text: 'SELECT $1::numeric BETWEEN min(sequence) - 1 AND max(sequence) AS resumable FROM directory.change',
        values: [sequence],
      });
      return rows[0]?.resumable ?? false;
    },

    async positionBefore(seconds) {
      const { rows } = await database.query<{ sequence: number }>({
        name: 'directory.changes_before',
        text: `SELECT coalesce(
                 (SELECT sequence - 1 FROM directory.change WHERE recorded_at >= to_timestamp(LEAST($1::float8, 253370764800))
                   ORDER BY recorded_at, sequence LIMIT 1),
                 (SELECT max(sequence) FROM directory.change), 0) AS sequence`,
        values: [seconds],
      });
      return rows[0]?.sequence ?? 0;
    },

    async changesAfter(sequence, limit) {
      const { rows } = await database.query<SequencedChange & { tenant_id: string; recorded_at: number }>({
        name: 'directory.changes_after',
        text: `SELECT sequence, kind, tenant_id, id, ended,
                      floor(extract(epoch FROM recorded_at))::float8 AS recorded_at
                 FROM directory.change
                WHERE sequence > $1 ORDER BY sequence LIMIT $2`,
        values: [sequence, limit],
      });
      return rows.map((row) => ({
        sequence: row.sequence,
        kind: row.kind,
        tenantId: row.tenant_id,
        id: row.id,
        ended: row.ended,
        recordedAt: row.recorded_at,
      }));
    },
  };
}
