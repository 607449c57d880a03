import { auditInsert, auditRecords, type AuditRow } from '@tessera/audit';
import type { Queryable } from '@tessera/stores';
import { rememberBrowser } from './known-browsers.postgres.ts';
import {
  codesMayLive,
  earlierIds,
  earlierOf,
  sessionColumns,
  sessionReads,
  toSession,
  type EarlierRow,
  type SessionRow,
} from './session-reads.postgres.ts';
import type {
  EndedSession,
  EndingSession,
  NewSessionRecord,
  SessionPosition,
  SessionStore,
} from './session-store.ts';

interface OpenedRow extends SessionRow, EarlierRow {
  over_tenant_id: string | null;
  over_session_id: string | null;
}

/**
 * Records ended sessions. `ended` is the query that ended them. The lock is taken row by row before a sequence number
 * is, and held until the commit.
 */
const onRecord = (ended: string) => `
  ordered AS MATERIALIZED (
    SELECT tenant_id, session_id, user_id,
           pg_advisory_xact_lock(hashtextextended('tessera.authorize.session_end', 0)) FROM ${ended}
  ), recorded AS (
    INSERT INTO authorize.session_end (tenant_id, session_id, user_id)
    SELECT tenant_id, session_id, user_id FROM ordered
  )`;

/** A notice is delivered for at most this time after the end of its session. */
const notifiedFor = `interval '2 hours'`;

/**
 * Writes a notice for each participant of the sessions that `ended`; $`requestId` is the parameter with the call's id.
 */
const notices = (ended: string, requestId: string, condition = 'true') => `
  notified AS (
    INSERT INTO authorize.logout_notice
      (notice_id, tenant_id, client_id, user_id, session_id, issuer, request_id, due_at, expires_at)
    SELECT gen_random_uuid()::text, e.tenant_id, p.key, e.user_id, p.value ->> 'sid', p.value ->> 'iss', ${requestId},
           clock_timestamp(), clock_timestamp() + ${notifiedFor}
    FROM ${ended} AS e CROSS JOIN LATERAL jsonb_each(e.participants) AS p
    WHERE ${condition}
  )`;

const openAudit = auditInsert(
  'authorize',
  `SELECT jsonb_array_elements($10::jsonb) UNION ALL
   SELECT jsonb_array_elements($11::jsonb) FROM replaced`,
);

const open = `
  WITH RECURSIVE had AS (
    SELECT tenant_id, session_id, user_id, replaces, participants, end_reason, upstream FROM authorize.session
    WHERE token_hash = $13 AND ${codesMayLive}
  ), ${earlierOf('had')}, replaced AS (
    UPDATE authorize.session SET ended_at = clock_timestamp(), end_reason = $9
    WHERE session_id = $8 AND ended_at IS NULL
    RETURNING tenant_id, session_id, user_id, participants
  ), opened AS (
    INSERT INTO authorize.session
      (session_id, token_hash, tenant_id, user_id, auth_time, created_at, last_seen_at, expires_at,
       ip_address, user_agent_hash, user_agent, methods, replaces, upstream, participants)
    VALUES ($1, $2, $3, $4, coalesce(to_timestamp($12::float8 / 1000), now()), now(), now(),
            now() + make_interval(secs => $5), $6, $7, $17, $16::text[],
            (SELECT session_id FROM had WHERE tenant_id = $3 AND user_id = $4),
            coalesce($18::jsonb, (SELECT upstream FROM had WHERE tenant_id = $3 AND user_id = $4
                                  AND 'fed' = ANY($16::text[]) AND coalesce(end_reason, 'replaced') = 'replaced')),
            coalesce((SELECT participants FROM replaced WHERE tenant_id = $3 AND user_id = $4),
                     (SELECT participants FROM had WHERE tenant_id = $3 AND user_id = $4
                      AND coalesce(end_reason, 'replaced') = 'replaced'), '{}'))
    RETURNING ${sessionColumns}
  ), ${onRecord('replaced')}, ${notices('replaced', '$15::text', '(e.tenant_id, e.user_id) <> ($3, $4)')}, ${rememberBrowser('$14', '$3', '$4')}, audited AS (${openAudit})
  SELECT o.session_id, o.tenant_id, o.user_id, methods, auth_time, auth_age,
         h.tenant_id AS over_tenant_id, h.session_id AS over_session_id, ${earlierIds}
  FROM opened AS o LEFT JOIN had AS h ON (h.tenant_id, h.user_id) <> (o.tenant_id, o.user_id)`;

const end = `
  WITH ended AS (
    UPDATE authorize.session SET ended_at = clock_timestamp(), end_reason = $2
    WHERE session_id = $1 AND ended_at IS NULL
    RETURNING tenant_id, session_id, user_id, participants
  ), ${onRecord('ended')}, ${notices('ended', '$4::text')}, audited AS (${auditInsert('authorize', 'SELECT jsonb_array_elements($3::jsonb) FROM ended')})
  SELECT session_id FROM ended`;

/** $1 session, $2 the participant as an object with its client id as the only key */
const participate = `
  WITH known AS (
    SELECT session_id FROM authorize.session
    WHERE session_id = $1 AND ended_at IS NULL AND participants @> $2::jsonb
  ), added AS (
    UPDATE authorize.session SET participants = participants || $2::jsonb
    WHERE session_id = $1 AND ended_at IS NULL AND NOT EXISTS (SELECT 1 FROM known)
    RETURNING session_id
  )
  SELECT session_id FROM known UNION ALL SELECT session_id FROM added`;

const purge = `
  DELETE FROM authorize.session WHERE session_id IN (
    SELECT session_id FROM authorize.session WHERE expires_at < statement_timestamp() - interval '1 day'
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )`;

/** Before all sessions. */
export const firstPosition: SessionPosition = { tenantId: '', userId: '', sessionId: '' };

/** Sessions in Postgres or PGlite. */
export function createSessionStore(database: Queryable): SessionStore {
  return {
    ...sessionReads(database),

    async open(session, audit, replaced) {
      const { rows } = await database.query<OpenedRow>({
        name: 'authorize.open_session',
        text: open,
        values: openValues(session, audit, replaced),
      });
      if (rows[0] === undefined) throw new Error('a new session was not returned');
      return { session: toSession(rows[0]), over: overOf(rows[0]) };
    },

    async end({ sessionId, reason, requestId, audit }) {
      const { rows } = await database.query({
        name: 'authorize.end_session',
        text: end,
        values: [sessionId, reason, auditRecords([audit]), requestId],
      });
      return rows.length === 1;
    },

    async participate(sessionId, { clientId, issuer }) {
      const { rows } = await database.query({
        name: 'authorize.participate',
        text: participate,
        values: [sessionId, JSON.stringify({ [clientId]: { sid: sessionId, iss: issuer } })],
      });
      return rows.length === 1;
    },

    async purge(limit) {
      const { rowCount } = await database.query({
        name: 'authorize.purge_sessions',
        text: purge,
        values: [limit],
      });
      return rowCount;
    },
  };
}

function openValues(
  session: NewSessionRecord,
  audit: readonly AuditRow[],
  replaced: EndingSession | undefined,
): unknown[] {
  return [
    session.sessionId,
    session.tokenHash,
    session.tenantId,
    session.userId,
    session.lifetimeSeconds,
    session.ipAddress,
    session.userAgentHash,
    replaced?.sessionId ?? null,
    replaced?.reason ?? null,
    auditRecords(audit),
    auditRecords(replaced === undefined ? [] : [replaced.audit]),
    session.signedInAt ?? null,
    session.previousTokenHash ?? null,
    session.knownBrowserHash,
    replaced?.requestId ?? '',
    session.methods,
    session.userAgent,
    session.upstream === undefined ? null : JSON.stringify(session.upstream),
  ];
}

function overOf(row: OpenedRow): EndedSession | undefined {
  const { over_tenant_id: tenantId, over_session_id: sessionId, earlier: earlierSessionIds } = row;
  return tenantId === null || sessionId === null ? undefined : { tenantId, sessionId, earlierSessionIds };
}
