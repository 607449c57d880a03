import { auditInsert } from '@tessera/audit';
import type { Database } from '@tessera/stores';
import type { LogoutNotice, LogoutNoticeStore } from './logout-notices.ts';

/** $1 limit, $2 seconds, $3 skipped clients. Locked rows belong to another process. */
const take = `
  WITH free AS MATERIALIZED (
    SELECT notice_id FROM authorize.logout_notice
    WHERE due_at <= statement_timestamp() AND client_id <> ALL($3::text[])
    ORDER BY due_at LIMIT $1::int FOR UPDATE SKIP LOCKED
  )
  UPDATE authorize.logout_notice
  SET attempts = attempts + 1, due_at = statement_timestamp() + make_interval(secs => $2::float8)
  WHERE notice_id IN (SELECT notice_id FROM free)
  RETURNING notice_id, tenant_id, client_id, user_id, session_id, issuer, request_id,
            attempts AS claim, attempts - uncounted AS attempt,
            extract(epoch FROM expires_at - statement_timestamp())::float8 AS remaining_seconds`;

/** $1 notice, $2 claim, $3 seconds */
const again = (uncounted: 0 | 1): string => `
  UPDATE authorize.logout_notice
  SET due_at = statement_timestamp() + make_interval(secs => $3::float8), uncounted = uncounted + ${uncounted}
  WHERE notice_id = $1 AND attempts = $2::int`;
const retry = again(0);
const giveBack = again(1);

/** $1 notice, $2 claim, $3 audit record */
const finish = `
  WITH finished AS (
    DELETE FROM authorize.logout_notice WHERE notice_id = $1 AND attempts = $2::int RETURNING notice_id
  )${auditInsert('authorize', 'SELECT $3::jsonb FROM finished')}`;

const purge = `
  DELETE FROM authorize.logout_notice WHERE notice_id IN (
    SELECT notice_id FROM authorize.logout_notice WHERE expires_at < statement_timestamp() - interval '1 day'
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )`;

interface NoticeRow {
  readonly notice_id: string;
  readonly tenant_id: string;
  readonly client_id: string;
  readonly user_id: string;
  readonly session_id: string;
  readonly issuer: string;
  readonly request_id: string;
  readonly claim: number;
  readonly attempt: number;
  readonly remaining_seconds: number;
}

/** Logout notices in Postgres or PGlite. */
export function createLogoutNoticeStore(database: Database): LogoutNoticeStore {
  const change = async (name: string, text: string, values: unknown[]) =>
    (await database.query({ name: `authorize.${name}`, text, values })).rowCount;
  return {
    async take(limit, leaseSeconds, skipped) {
      const { rows } = await database.query<NoticeRow>({
        name: 'authorize.take_logout_notices',
        text: take,
        values: [limit, leaseSeconds, skipped],
      });
      return rows.map(noticeOf);
    },
    async finish({ noticeId, claim }, { record }) {
      return (await change('finish_logout_notice', finish, [noticeId, claim, record])) === 1;
    },
    async retry({ noticeId, claim }, delaySeconds) {
      await change('retry_logout_notice', retry, [noticeId, claim, delaySeconds]);
    },
    async giveBack({ noticeId, claim }, delaySeconds) {
      await change('give_back_logout_notice', giveBack, [noticeId, claim, delaySeconds]);
    },
    purge: (limit) => change('purge_logout_notices', purge, [limit]),
  };
}

function noticeOf(row: NoticeRow): LogoutNotice {
  return {
    noticeId: row.notice_id,
    claim: row.claim,
    attempt: row.attempt,
    tenantId: row.tenant_id,
    clientId: row.client_id,
    userId: row.user_id,
    sessionId: row.session_id,
    issuer: row.issuer,
    requestId: row.request_id,
    remainingSeconds: row.remaining_seconds,
  };
}
