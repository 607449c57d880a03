import { auditInsert, auditRecords, type AuditRow } from '@tessera/audit';
import { AuthenticationSchema } from '@tessera/proto-gen/oauth';
import { create } from '@tessera/rpc';
import type { Queryable } from '@tessera/stores';
import { rememberBrowser } from './known-browsers.postgres.ts';
import type {
  EndedSession,
  EndingSession,
  NewSessionRecord,
  Session,
  SessionStore,
  UpstreamSession,
} from './store.ts';

interface EarlierRow {
  earlier: string[];
}

interface OpenedRow extends SessionRow, EarlierRow {
  over_tenant_id: string | null;
  over_session_id: string | null;
}

interface SessionRow {
  session_id: string;
  tenant_id: string;
  user_id: string;
  auth_time: number;
  methods: string[];
  auth_age: number;
}

interface LiveRow extends SessionRow {
  ip_address: string;
  user_agent_hash: string;
  user_agent: string;
  times: { created: number; seen: number; expires: number };
}

const sessionColumns = `session_id, tenant_id, user_id, methods,
    floor(extract(epoch FROM auth_time))::float8 AS auth_time,
    extract(epoch FROM clock_timestamp() - auth_time)::float8 AS auth_age`;

/**
 * Records ended sessions. `ended` is the query that ended them. The lock is taken row by row before a sequence number is,
 * and held until the commit.
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

/** Writes a notice for each participant of the sessions that `ended`; $`requestId` is the parameter with the call's id. */
const notices = (ended: string, requestId: string, condition = 'true') => `
  notified AS (
    INSERT INTO authorize.logout_notice
      (notice_id, tenant_id, client_id, user_id, session_id, issuer, request_id, due_at, expires_at)
    SELECT gen_random_uuid()::text, e.tenant_id, p.key, e.user_id, p.value ->> 'sid', p.value ->> 'iss', ${requestId},
           clock_timestamp(), clock_timestamp() + ${notifiedFor}
    FROM ${ended} AS e CROSS JOIN LATERAL jsonb_each(e.participants) AS p
    WHERE ${condition}
  )`;

/** No code is issued for an ended session, or over a minute after its last use. A code lives for at most 10 minutes. */
const codesMayLive = `coalesce(ended_at, last_seen_at) > clock_timestamp() - interval '15 minutes'`;

/**
 * The chain of replaced sessions that leads to `ended`. Each ended before the next began, so the chain stops at the first
 * one whose codes have all expired.
 */
const earlierOf = (ended: string) => `
  earlier (session_id, replaces, back) AS (
    SELECT NULL::text, replaces, 0 FROM ${ended}
    UNION ALL
    SELECT s.session_id, s.replaces, e.back + 1 FROM earlier AS e
    JOIN authorize.session AS s ON s.session_id = e.replaces
    WHERE e.back < 10 AND ${codesMayLive}
  )`;

const earlierIds = 'ARRAY(SELECT session_id FROM earlier WHERE back > 0 ORDER BY back) AS earlier';

const find = `
  WITH found AS (
    SELECT ${sessionColumns} FROM authorize.session
    WHERE token_hash = $1 AND ended_at IS NULL AND expires_at > clock_timestamp()
      AND last_seen_at > clock_timestamp() - make_interval(secs => $2)
  ), seen AS (
    UPDATE authorize.session AS s SET last_seen_at = clock_timestamp() FROM found
    WHERE s.session_id = found.session_id AND s.ended_at IS NULL
      AND s.last_seen_at < clock_timestamp() - interval '1 minute'
  )
  SELECT session_id, tenant_id, user_id, methods, auth_time, auth_age FROM found`;

const identify = (condition: string) => `
  WITH RECURSIVE found AS (
    SELECT ${sessionColumns}, replaces, upstream FROM authorize.session WHERE ${condition}
  ), ${earlierOf('found')}
  SELECT session_id, tenant_id, user_id, methods, auth_time, auth_age, upstream, ${earlierIds} FROM found`;

const identifyByToken = identify('token_hash = $1');
const identifyById = identify('session_id = $1 AND tenant_id = $2');

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

/** $1 tenant or null, $2 user or null, $3 session after which to continue, $4 limit */
const withParticipants = `
  SELECT ${sessionColumns} FROM authorize.session
  WHERE ended_at IS NULL AND participants <> '{}' AND expires_at > clock_timestamp()
    AND ($1::text IS NULL OR tenant_id = $1) AND ($2::text IS NULL OR user_id = $2)
    AND (tenant_id, user_id, session_id) > ($3::text, $4::text, $5::text)
  ORDER BY tenant_id, user_id, session_id LIMIT $6::int`;

/** $1 tenant, $2 idle seconds, $3 user and $4 session after which to continue, $5 limit */
const live = (people: string) => `
  SELECT ${sessionColumns}, ip_address, user_agent_hash, user_agent, jsonb_build_object(
      'created', round(extract(epoch FROM created_at) * 1000), 'seen', round(extract(epoch FROM last_seen_at) * 1000),
      'expires', round(extract(epoch FROM expires_at) * 1000)) AS times
  FROM authorize.session
  WHERE tenant_id = $1 ${people} AND ended_at IS NULL AND expires_at > clock_timestamp()
    AND last_seen_at > clock_timestamp() - make_interval(secs => $2)
    AND (user_id, session_id) > ($3::text, $4::text)
  ORDER BY user_id, session_id LIMIT $5::int`;
const liveOfTenant = live('');
/** $6 users */
const liveOfPeople = live('AND user_id = ANY($6::text[])');

const purge = `
  DELETE FROM authorize.session WHERE session_id IN (
    SELECT session_id FROM authorize.session WHERE expires_at < statement_timestamp() - interval '1 day'
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )`;

/** Sessions in Postgres or PGlite. */
export function createSessionStore(database: Queryable): SessionStore {
  return {
    async find(tokenHash, idleSeconds) {
      const values = [tokenHash, idleSeconds];
      const { rows } = await database.query<SessionRow>({
        name: 'authorize.find_session',
        text: find,
        values,
      });
      return rows[0] === undefined ? undefined : toSession(rows[0]);
    },

    async identify(by) {
      const { rows } = await database.query<SessionRow & EarlierRow & { upstream: UpstreamSession | null }>(
        Buffer.isBuffer(by)
          ? { name: 'authorize.identify_session', text: identifyByToken, values: [by] }
          : {
              name: 'authorize.identify_session_by_id',
              text: identifyById,
              values: [by.sessionId, by.tenantId],
            },
      );
      if (rows[0] === undefined) return undefined;
      const [row] = rows;
      return { ...toSession(row), earlierSessionIds: row.earlier, upstream: row.upstream ?? undefined };
    },

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

    async withParticipants({ tenantId, userId }, after, limit) {
      const { rows } = await database.query<SessionRow>({
        name: 'authorize.sessions_with_participants',
        text: withParticipants,
        values: [tenantId ?? null, userId ?? null, after.tenantId, after.userId, after.sessionId, limit],
      });
      return rows.map(toSession);
    },

    async live({ tenantId, userIds, idleSeconds }, after, limit) {
      const values = [tenantId, idleSeconds, after.userId, after.sessionId, limit];
      const { rows } = await database.query<LiveRow>(
        userIds === undefined
          ? { name: 'authorize.live_sessions', text: liveOfTenant, values }
          : { name: 'authorize.live_sessions_of_people', text: liveOfPeople, values: [...values, userIds] },
      );
      return rows.map((row) => ({
        ...toSession(row),
        ipAddress: row.ip_address,
        userAgentHash: row.user_agent_hash,
        userAgent: row.user_agent,
        createdAt: row.times.created,
        lastSeenAt: row.times.seen,
        expiresAt: row.times.expires,
      }));
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

function toSession(row: SessionRow): Session {
  return {
    sessionId: row.session_id,
    tenantId: row.tenant_id,
    userId: row.user_id,
    authentication: create(AuthenticationSchema, { time: row.auth_time, methods: row.methods }),
    authAge: row.auth_age,
  };
}
