import { AuthenticationSchema } from '@tessera/proto-gen/oauth';
import { create } from '@tessera/rpc';
import type { Queryable } from '@tessera/stores';
import type { Session, SessionStore, UpstreamSession } from './session-store.ts';

export interface EarlierRow {
  earlier: string[];
}

export interface SessionRow {
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

export const sessionColumns = `session_id, tenant_id, user_id, methods,
    floor(extract(epoch FROM auth_time))::float8 AS auth_time,
    extract(epoch FROM clock_timestamp() - auth_time)::float8 AS auth_age`;

/** No code is issued for an ended session, or over a minute after its last use. A code lives for at most 10 minutes. */
export const codesMayLive = `coalesce(ended_at, last_seen_at) > clock_timestamp() - interval '15 minutes'`;

/**
 * The chain of replaced sessions that leads to `ended`. Each ended before the next began, so the chain stops at the
 * first one whose codes have all expired.
 */
export const earlierOf = (ended: string) => `
  earlier (session_id, replaces, back) AS (
    SELECT NULL::text, replaces, 0 FROM ${ended}
    UNION ALL
    SELECT s.session_id, s.replaces, e.back + 1 FROM earlier AS e
    JOIN authorize.session AS s ON s.session_id = e.replaces
    WHERE e.back < 10 AND ${codesMayLive}
  )`;

export const earlierIds = 'ARRAY(SELECT session_id FROM earlier WHERE back > 0 ORDER BY back) AS earlier';

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

/** What is asked of sessions. */
export function sessionReads(
  database: Queryable,
): Pick<SessionStore, 'find' | 'identify' | 'withParticipants' | 'live'> {
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
  };
}

export function toSession(row: SessionRow): Session {
  return {
    sessionId: row.session_id,
    tenantId: row.tenant_id,
    userId: row.user_id,
    authentication: create(AuthenticationSchema, { time: row.auth_time, methods: row.methods }),
    authAge: row.auth_age,
  };
}
