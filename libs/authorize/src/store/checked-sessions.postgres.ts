import type { Queryable } from '@tessera/stores';

/** A session that lives; times are seconds from now. */
export interface CheckedSession {
  /** As it was asked for. */
  readonly askedId: string;
  /** The last of those that replaced it for the same person. */
  readonly sessionId: string;
  /** Until it ends if it is not used. */
  readonly idleSeconds: number;
  /** Until its absolute end. */
  readonly remainingSeconds: number;
}

/** What is asked of the sessions that refresh tokens belong to. */
export interface CheckedSessionStore {
  /**
   * Those of a tenant that live; one that a later sign-in of the same person replaced lives as long as the later one.
   *
   * @param idleSeconds without a use for so long a session ends
   * @param uses whether this is a use of them, which is recorded at most once a minute
   */
  check(
    tenantId: string,
    sessionIds: readonly string[],
    options: { readonly idleSeconds: number; readonly uses: boolean },
  ): Promise<CheckedSession[]>;
}

interface CheckedRow {
  readonly asked_id: string;
  readonly session_id: string;
  readonly idle: number;
  readonly remaining: number;
}

const checkedColumns = 'session_id, tenant_id, user_id, ended_at, end_reason, last_seen_at, expires_at';

/** Nobody signs in more often within the lifetime of one session. */
const longestChain = 1000;

/**
 * An answer that was lost may have let two sessions replace one: the later counts, the other never reached the browser.
 * $1 tenant, $2 sessions, $3 idle seconds, $4 whether they are used
 */
const check = `
  WITH RECURSIVE chain (asked_id, step, ${checkedColumns}) AS (
    SELECT session_id, 0, ${checkedColumns} FROM authorize.session
    WHERE session_id = ANY($2::text[]) AND tenant_id = $1
    UNION ALL
    SELECT c.asked_id, c.step + 1, later.*
    FROM chain AS c CROSS JOIN LATERAL (
      SELECT ${checkedColumns} FROM authorize.session AS s
      WHERE s.replaces = c.session_id AND s.tenant_id = c.tenant_id AND s.user_id = c.user_id
      ORDER BY s.created_at DESC LIMIT 1
    ) AS later
    WHERE c.end_reason = 'replaced' AND c.step < ${longestChain}
  ), last AS (
    SELECT DISTINCT ON (asked_id) * FROM chain ORDER BY asked_id, step DESC
  ), live AS (
    SELECT asked_id, session_id, expires_at,
           CASE WHEN $4::boolean AND last_seen_at < clock_timestamp() - interval '1 minute'
             THEN clock_timestamp() ELSE last_seen_at END AS seen_at
    FROM last
    WHERE ended_at IS NULL AND expires_at > clock_timestamp()
      AND last_seen_at > clock_timestamp() - make_interval(secs => $3::float8)
  ), seen AS (
    UPDATE authorize.session AS s SET last_seen_at = l.seen_at FROM live AS l
    WHERE $4::boolean AND s.session_id = l.session_id AND s.ended_at IS NULL AND s.last_seen_at < l.seen_at
  )
  SELECT asked_id, session_id,
         $3::float8 - extract(epoch FROM clock_timestamp() - seen_at)::float8 AS idle,
         extract(epoch FROM expires_at - clock_timestamp())::float8 AS remaining
  FROM live`;

export function createCheckedSessionStore(database: Queryable): CheckedSessionStore {
  return {
    async check(tenantId, sessionIds, { idleSeconds, uses }) {
      const { rows } = await database.query<CheckedRow & Record<string, unknown>>({
        name: 'authorize.check_sessions',
        text: check,
        values: [tenantId, sessionIds, idleSeconds, uses],
      });
      return rows.map((row) => ({
        askedId: row.asked_id,
        sessionId: row.session_id,
        idleSeconds: Math.max(0, Math.min(row.idle, row.remaining)),
        remainingSeconds: Math.max(0, row.remaining),
      }));
    },
  };
}
