import { auditInsert } from '@tessera/audit';
import type { Database } from '@tessera/stores';
import type { Runtime } from '@tessera/process';
import { auditParameter, redemptionEvents, replayEvents, sessionEndEvents } from './audit-events.ts';
import { auditFamily, isOfSession, recordRevocations, timeColumns, type TimesRow } from './sql-fragments.ts';
import { storedGrantOf } from './grant-columns.ts';
import type { PresentedValue, RedemptionRequest, RedemptionStore, Replay, TokenTimes } from './store.ts';

/** The family of a revoked access token in the feed, where every row has one. */
const nilUuid = '00000000-0000-0000-0000-000000000000';

/**
 * The marker decides: family and audit rows are inserted only with it, and it is not inserted for a code of an ended
 * session. $5 is null if no family starts. $1 tenant, $2 kind, $3 hash, $4 client, $5 family or null, $6 user, $7
 * scopes, $8 resource, $9 session, $10 issuer, $11 auth_time, $12 idle seconds, $13 absolute seconds, $14 audit, $15
 * `jti` and $16 `aud` of the access token, $17 claims for /userinfo, $18 claims for the ID token, $19 the grant
 */
const redeemSql = `
  WITH ended AS MATERIALIZED (
    SELECT FROM token.ended_session
    WHERE tenant_id = $1 AND session_id = $9 AND $2 = 'authorization_code'
  ), marker AS (
    INSERT INTO token.redemption (tenant_id, kind, hash, family_id, client_id, user_id, session_id, token_id, audience)
    SELECT $1, $2, $3::bytea, $5::uuid, $4, $6, $9, $15, $16 WHERE NOT EXISTS (SELECT FROM ended)
    ON CONFLICT (tenant_id, kind, hash) DO NOTHING
    RETURNING tenant_id, family_id, user_id, session_id
  ), family AS (
    INSERT INTO token.refresh_family (tenant_id, family_id, client_id, user_id, generation, scopes, resource, session_id,
                                      issuer, auth_time, idle_expires_at, absolute_expires_at, userinfo_claims,
                                      id_token_claims, user_grant)
    SELECT tenant_id, family_id, $4::text, user_id, 1, $7::text[], $8::text, session_id, $10::text, $11::bigint,
           clock_timestamp() + make_interval(secs => LEAST($12::float8, $13::float8)),
           clock_timestamp() + make_interval(secs => $13::float8), $17::text[], $18::text[], $19::jsonb
    FROM marker WHERE family_id IS NOT NULL
    RETURNING ${timeColumns}
  ), audited AS (${auditFamily('marker', '$14')})
  SELECT (SELECT count(*) FROM marker)::int AS redeemed, EXISTS (SELECT FROM ended) AS session_ended,
         (SELECT issued_at FROM family) AS issued_at, (SELECT expires_at FROM family) AS expires_at`;

/**
 * Finds the marker of a value that was redeemed before. For a code it revokes the family and the access token of the
 * first redemption (RFC 6749 §4.1.2); a device or CIBA client may have polled twice at once (RFC 8628 §3.5). Both are
 * sorted before they are recorded, so that both rows are locked before the advisory lock is taken. $1 tenant, $2 kind,
 * $3 hash, $4 audit
 */
const replaySql = `
  WITH marker AS (
    SELECT m.tenant_id, m.kind, m.family_id, COALESCE(f.user_id, m.user_id) AS user_id,
           COALESCE(f.session_id, m.session_id) AS session_id
    FROM token.redemption AS m
    LEFT JOIN token.refresh_family AS f ON f.tenant_id = m.tenant_id AND f.family_id = m.family_id
    WHERE m.tenant_id = $1 AND m.kind = $2 AND m.hash = $3::bytea
  ), revoked AS (
    UPDATE token.refresh_family AS f
    SET revoked_at = clock_timestamp(), revoked_cause = 'grant_replayed'
    FROM marker AS m
    WHERE f.tenant_id = m.tenant_id AND f.family_id = m.family_id AND f.revoked_at IS NULL
      AND m.kind = 'authorization_code'
    RETURNING f.tenant_id, f.family_id, f.client_id, f.user_id, f.session_id, f.resource
  ), revoked_token AS (
    UPDATE token.redemption SET token_revoked_at = clock_timestamp()
    WHERE tenant_id = $1 AND kind = $2 AND hash = $3::bytea AND kind = 'authorization_code'
      AND token_id IS NOT NULL AND token_revoked_at IS NULL
    RETURNING tenant_id, client_id, user_id, session_id, audience, token_id
  ), both_revoked AS (
    SELECT tenant_id, family_id, client_id, user_id, session_id, resource, NULL::text AS token_id FROM revoked
    UNION ALL
    SELECT tenant_id, '${nilUuid}'::uuid, client_id, user_id, session_id, audience, token_id FROM revoked_token
    ORDER BY token_id NULLS FIRST
  ), ${recordRevocations('both_revoked', 'true', 'token_id')}, audited AS (${auditFamily('marker', '$4', "e ->> 'when' = 'always'")}
  ), audited_revocation AS (${auditFamily('revoked', '$4', "e ->> 'when' = 'revoked'")})
  SELECT count(*)::int AS found, (SELECT token_id FROM revoked_token) AS revoked_token FROM marker`;

/** One event for each family that ends: after the first with a number of their own behind its id. */
const auditEnded = auditInsert(
  'token',
  `SELECT (e -> 'record') || jsonb_build_object(
            'eventId', (e -> 'record' ->> 'eventId') || CASE WHEN s.place = 1 THEN '' ELSE '.' || s.place END,
            'clientId', s.client_id, 'subject', s.user_id, 'sessionId', s.session_id, 'grantId', s.family_id)
   FROM (SELECT *, row_number() OVER (ORDER BY family_id) AS place FROM ending) AS s,
        jsonb_array_elements($3::jsonb) AS e`,
);

/** $1 tenant, $2 session, $3 audit */
const noteSessionEndSql = `
  WITH noted AS (
    INSERT INTO token.ended_session (tenant_id, session_id) VALUES ($1, $2)
    ON CONFLICT (tenant_id, session_id) DO NOTHING
  ), ending AS MATERIALIZED (
    SELECT tenant_id, family_id, client_id, user_id, session_id, resource FROM token.refresh_family
    WHERE tenant_id = $1 AND session_id = $2 AND revoked_at IS NULL AND ${isOfSession}
    ORDER BY family_id FOR UPDATE
  ), revoked AS (
    UPDATE token.refresh_family AS f
    SET revoked_at = clock_timestamp(), revoked_cause = 'session_ended'
    FROM ending AS s
    WHERE f.tenant_id = s.tenant_id AND f.family_id = s.family_id
  ), ${recordRevocations('ending', 'true')}, audited AS (${auditEnded})
  SELECT count(*)::int AS ended FROM ending`;

/** $1 limit */
const purgeSessionEndsSql = `
  DELETE FROM token.ended_session
  WHERE (tenant_id, session_id) IN (
    SELECT tenant_id, session_id FROM token.ended_session
    WHERE ended_at < statement_timestamp() - interval '1 day'
    LIMIT $1::int FOR UPDATE SKIP LOCKED)`;

/**
 * $1 limit. A marker must exist for as long as its value could be presented again, even if Redis was restored from an
 * old copy.
 */
const purgeOldSql = `
  DELETE FROM token.redemption
  WHERE (tenant_id, kind, hash) IN (
    SELECT tenant_id, kind, hash FROM token.redemption
    WHERE redeemed_at < statement_timestamp() - interval '7 days'
    LIMIT $1::int FOR UPDATE SKIP LOCKED)`;

type StoreRuntime = Pick<Runtime, 'clock' | 'random'>;

/** The markers of redeemed one-time values, and the ended sessions, on Postgres or PGlite. */
export function createRedemptionStore(database: Database, runtime: StoreRuntime): RedemptionStore {
  return {
    redeem: (request) => redeem(database, runtime, request),
    findReplay: (value) => findReplay(database, runtime, value),
    async noteSessionEnd(tenantId, sessionId, trail) {
      const values = [tenantId, sessionId, auditParameter(runtime, sessionEndEvents({ tenantId }, trail))];
      await database.query({ name: 'token.note_session_end', text: noteSessionEndSql, values });
    },
    async purgeSessionEnds(limit) {
      const purge = { name: 'token.purge_session_ends', text: purgeSessionEndsSql, values: [limit] };
      return (await database.query(purge)).rowCount;
    },
    async purgeOld(limit) {
      const purge = { name: 'token.purge_redemptions', text: purgeOldSql, values: [limit] };
      return (await database.query(purge)).rowCount;
    },
  };
}

async function redeem(
  database: Database,
  runtime: StoreRuntime,
  request: RedemptionRequest,
): ReturnType<RedemptionStore['redeem']> {
  const { tenantId, kind, hash, family, trail, clientId } = request;
  const about = { tenantId, clientId };
  const { rows } = await database.query<RedeemedRow>({
    name: 'token.redeem',
    text: redeemSql,
    beforeSending: request.throwIfAborted,
    values: [
      tenantId,
      kind,
      hash,
      clientId,
      family?.familyId ?? null,
      request.userId,
      family?.grant.scopes ?? [],
      family?.grant.resource ?? '',
      request.sessionId,
      family?.grant.issuer ?? '',
      family?.grant.authentication?.time ?? 0,
      family?.idleSeconds ?? 0,
      family?.absoluteSeconds ?? 0,
      auditParameter(runtime, redemptionEvents(kind, about, trail)),
      request.accessToken.tokenId,
      request.accessToken.audience,
      family?.grant.userinfoClaims ?? [],
      family?.grant.idTokenClaims ?? [],
      family === undefined ? null : storedGrantOf(family.grant),
    ],
  });
  if (rows[0]?.redeemed === 1) return { kind: 'redeemed', times: timesOf(rows[0]) };
  const replay = await findReplay(database, runtime, request);
  if (rows[0]?.session_ended === true && replay === undefined) return { kind: 'session_ended' };
  return { kind: 'replayed', revokedTokenId: replay?.revokedTokenId };
}

interface RedeemedRow extends Record<string, unknown> {
  readonly redeemed: number;
  readonly session_ended: boolean;
  readonly issued_at: TimesRow['issued_at'] | null;
  readonly expires_at: TimesRow['expires_at'] | null;
}

function timesOf({ issued_at: issuedAt, expires_at: expiresAt }: RedeemedRow): TokenTimes | undefined {
  return issuedAt === null || expiresAt === null ? undefined : { issuedAt, expiresAt };
}

async function findReplay(
  database: Database,
  runtime: StoreRuntime,
  { tenantId, clientId, kind, hash, trail, throwIfAborted }: PresentedValue,
): Promise<Replay | undefined> {
  const { rows } = await database.query<{ found: number; revoked_token: string | null }>({
    name: 'token.replay',
    text: replaySql,
    beforeSending: throwIfAborted,
    values: [
      tenantId,
      kind,
      hash,
      auditParameter(runtime, replayEvents(kind, { tenantId, clientId }, trail)),
    ],
  });
  const [row] = rows;
  return row?.found === 1 ? { revokedTokenId: row.revoked_token ?? undefined } : undefined;
}
