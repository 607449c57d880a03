import type { Database } from '@tessera/stores';
import type { RecordedRevocation, RevocationStore } from './store.ts';

const newest = `
  SELECT GREATEST(h.sequence, (SELECT max(sequence) FROM token.revocation)) AS sequence
  FROM token.revocation_horizon AS h`;

/** $1 seconds since the Unix epoch */
const before = `
  SELECT GREATEST(h.sequence, (
           SELECT sequence FROM token.revocation WHERE recorded_at < to_timestamp($1::float8)
           ORDER BY recorded_at DESC, sequence DESC LIMIT 1)) AS sequence
  FROM token.revocation_horizon AS h`;

/** $1 sequence. A sequence beyond the newest comes from a database that was restored from a backup since. */
const resumable = `
  SELECT $1::bigint BETWEEN h.sequence AND GREATEST(h.sequence, (SELECT max(sequence) FROM token.revocation))
         AS resumable
  FROM token.revocation_horizon AS h`;

/** $1 sequence, $2 limit */
const after = `
  SELECT sequence, tenant_id, family_id::text AS family_id, client_id, user_id, session_id, resource,
         floor(extract(epoch FROM recorded_at))::float8 AS ended_at
  FROM token.revocation WHERE sequence > $1 ORDER BY sequence LIMIT $2`;

/** $1 limit */
const purge = `
  WITH gone AS (
    DELETE FROM token.revocation WHERE sequence IN (
      SELECT sequence FROM token.revocation WHERE recorded_at < clock_timestamp() - interval '7 days'
      ORDER BY sequence LIMIT $1::int FOR UPDATE SKIP LOCKED)
    RETURNING sequence
  ), noted AS (
    UPDATE token.revocation_horizon SET sequence = GREATEST(sequence, (SELECT max(sequence) FROM gone))
    WHERE EXISTS (SELECT 1 FROM gone)
  )
  SELECT count(*)::int AS gone FROM gone`;

/** The feed of revoked families on Postgres or PGlite. The statements that revoke write its entries. */
export function createRevocationStore(database: Database): RevocationStore {
  const sequence = async (name: string, text: string, values: unknown[] = []) =>
    (await database.query<{ sequence: number }>({ name, text, values })).rows[0]?.sequence ?? 0;
  return {
    newestChange: () => sequence('token.newest_revocation', newest),
    positionBefore: (seconds) => sequence('token.revocations_before', before, [seconds]),
    async canResumeAfter(position) {
      const statement = { name: 'token.resume_revocations', text: resumable, values: [position] };
      return (await database.query<{ resumable: boolean }>(statement)).rows[0]?.resumable ?? false;
    },
    async changesAfter(position, limit) {
      const statement = { name: 'token.revocations_after', text: after, values: [position, limit] };
      return (await database.query<RevocationRow>(statement)).rows.map(revocationOf);
    },
    async purgeOld(limit) {
      const statement = { name: 'token.purge_revocations', text: purge, values: [limit] };
      return (await database.query<{ gone: number }>(statement)).rows[0]?.gone ?? 0;
    },
  };
}

interface RevocationRow {
  readonly sequence: number;
  readonly tenant_id: string;
  readonly family_id: string;
  readonly client_id: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly resource: string;
  readonly ended_at: number;
}

function revocationOf(row: RevocationRow): RecordedRevocation {
  return {
    sequence: row.sequence,
    tenantId: row.tenant_id,
    familyId: row.family_id,
    clientId: row.client_id,
    userId: row.user_id,
    sessionId: row.session_id,
    resource: row.resource,
    endedAt: row.ended_at,
  };
}
