import type { Database, FeedStore, Sequenced } from '@tessera/stores';

/** A session that was ended. */
export interface SessionEnd extends Sequenced {
  readonly tenantId: string;
  readonly sessionId: string;
  readonly userId: string;
  /** Seconds since the Unix epoch. */
  readonly endedAt: number;
}

export interface SessionEndStore extends FeedStore<SessionEnd> {
  /** The position behind which everything recorded since `seconds` (Unix epoch) comes, as far as it is on record. */
  positionBefore(seconds: number): Promise<number>;
  /** Deletes up to `limit` ends older than a week and notes how far; resolves with how many. */
  purge(limit: number): Promise<number>;
}

const newest = `
  SELECT GREATEST(h.sequence, (SELECT max(sequence) FROM authorize.session_end)) AS sequence
  FROM authorize.session_end_horizon AS h`;

/** $1 seconds since the Unix epoch */
const before = `
  SELECT GREATEST(h.sequence, (
           SELECT sequence FROM authorize.session_end WHERE recorded_at < to_timestamp($1::float8)
           ORDER BY recorded_at DESC, sequence DESC LIMIT 1)) AS sequence
  FROM authorize.session_end_horizon AS h`;

const after = `
  SELECT sequence, tenant_id, session_id, user_id, floor(extract(epoch FROM recorded_at))::float8 AS ended_at
  FROM authorize.session_end WHERE sequence > $1 ORDER BY sequence LIMIT $2`;

const resumable = `
  SELECT $1::bigint BETWEEN h.sequence
    AND GREATEST(h.sequence, (SELECT max(sequence) FROM authorize.session_end)) AS resumable
  FROM authorize.session_end_horizon AS h`;

const purge = `
  WITH gone AS (
    DELETE FROM authorize.session_end WHERE sequence IN (
      SELECT sequence FROM authorize.session_end WHERE recorded_at < clock_timestamp() - interval '7 days'
      ORDER BY sequence LIMIT $1 FOR UPDATE SKIP LOCKED)
    RETURNING sequence
  ), noted AS (
    UPDATE authorize.session_end_horizon SET sequence = GREATEST(sequence, (SELECT max(sequence) FROM gone))
    WHERE EXISTS (SELECT 1 FROM gone)
  )
  SELECT count(*)::int AS gone FROM gone`;

/** The ends of sessions in Postgres or PGlite; they are written with the end itself, by the store of the sessions. */
export function createSessionEndStore(database: Database): SessionEndStore {
  return {
    async newestChange() {
      const statement = { name: 'authorize.newest_session_end', text: newest };
      return (await database.query<Sequenced>(statement)).rows[0]?.sequence ?? 0;
    },
    async positionBefore(seconds) {
      const statement = { name: 'authorize.session_ends_before', text: before, values: [seconds] };
      return (await database.query<Sequenced>(statement)).rows[0]?.sequence ?? 0;
    },
    async canResumeAfter(sequence) {
      const statement = { name: 'authorize.resume_session_ends', text: resumable, values: [sequence] };
      return (await database.query<{ resumable: boolean }>(statement)).rows[0]?.resumable ?? false;
    },
    async changesAfter(sequence, limit) {
      const { rows } = await database.query<SessionEndRow>({
        name: 'authorize.session_ends_after',
        text: after,
        values: [sequence, limit],
      });
      return rows.map((row) => ({
        sequence: row.sequence,
        tenantId: row.tenant_id,
        sessionId: row.session_id,
        userId: row.user_id,
        endedAt: row.ended_at,
      }));
    },
    async purge(limit) {
      const statement = { name: 'authorize.purge_session_ends', text: purge, values: [limit] };
      return (await database.query<{ gone: number }>(statement)).rows[0]?.gone ?? 0;
    },
  };
}

interface SessionEndRow extends Sequenced {
  readonly tenant_id: string;
  readonly session_id: string;
  readonly user_id: string;
  readonly ended_at: number;
}
