/**
 * The SQL of the stores. Each change is one statement with its audit rows, so that there is no moment between them.
 *
 * `audit` parameters are a JSON array of rows; a row with a `when` is written only for that verdict. What is known
 * only from the family (subject, session) is added to the record here.
 */

const grantColumns = 'user_id, scopes, resource, session_id, issuer, auth_time::float8 AS auth_time';

/** Inserts the audit rows of `parameter` once for each row of `source`, which has the columns of a family. */
function auditInsert(source: string, parameter: string, condition = 'true'): string {
  return `
    INSERT INTO token.audit_event (event_id, event, tenant_id, outcome, reason, record)
    SELECT e ->> 'eventId', e ->> 'event', s.tenant_id, e ->> 'outcome', e ->> 'reason',
           (e -> 'record') || jsonb_strip_nulls(jsonb_build_object(
             'tenantId', s.tenant_id, 'subject', s.user_id,
             'sessionId', NULLIF(s.session_id, ''), 'grantId', s.family_id))
    FROM ${source} AS s, jsonb_array_elements(${parameter}::text::jsonb) AS e
    WHERE ${condition}`;
}

/**
 * Puts revoked families on record. `source` has the columns of the families that this statement revokes; their rows are
 * locked by then. The order of the record is that of the commits, so the lock is taken before a sequence number is, and
 * held until the commit; nothing waits for a row while it holds it.
 */
function onRecord(source: string, condition: string): string {
  return `
  ordered AS MATERIALIZED (
    SELECT tenant_id, family_id, client_id, user_id, session_id, resource,
           pg_advisory_xact_lock(hashtextextended('tessera.token.revocation', 0))
    FROM ${source} WHERE ${condition}
  ), recorded AS (
    INSERT INTO token.revocation (tenant_id, family_id, client_id, user_id, session_id, resource)
    SELECT tenant_id, family_id, client_id, user_id, session_id, resource FROM ordered
  )`;
}

/** $1 tenant, $2 family, $3 client, $4 generation, $5 scopes, $6 resources, $7 idle seconds, $8 audit */
export const rotate = `
  WITH rotated AS (
    UPDATE token.refresh_family
    SET generation = generation + 1,
        previous_rotated_at = rotated_at,
        previous_idle_expires_at = idle_expires_at,
        rotated_at = clock_timestamp(),
        undelivered = false,
        hand_outs = 1,
        idle_expires_at = LEAST(absolute_expires_at, clock_timestamp() + make_interval(secs => $7::float8))
    WHERE tenant_id = $1 AND family_id = $2::uuid AND client_id = $3 AND generation = $4::int
      AND revoked_at IS NULL
      AND idle_expires_at > clock_timestamp() AND absolute_expires_at > clock_timestamp()
      AND scopes @> $5::text[] AND (cardinality($6::text[]) = 0 OR resource = ANY ($6))
    RETURNING tenant_id, family_id, generation, user_id, scopes, resource, session_id, issuer, auth_time
  ), audited AS (${auditInsert('rotated', '$8')})
  SELECT generation, ${grantColumns} FROM rotated`;

/**
 * Says why a rotation found nothing to rotate, with the family locked, and does what follows from it.
 * The order of the cases matters: another client's attempt changes nothing whatever the state; a request that asks
 * for too much is told so and consumes nothing.
 * $1 tenant, $2 family, $3 client, $4 generation, $5 scopes, $6 resources, $7 retry window in seconds, $8 audit,
 * $9 idle seconds
 */
export const settleRotation = `
  WITH family AS MATERIALIZED (
    SELECT tenant_id, family_id, client_id, generation, undelivered, rotated_at, idle_expires_at, absolute_expires_at,
           revoked_at, user_id, scopes, resource, session_id, issuer, auth_time
    FROM token.refresh_family
    WHERE tenant_id = $1 AND family_id = $2::uuid
    FOR UPDATE
  ), settled AS MATERIALIZED (
    SELECT *,
      CASE
        WHEN client_id <> $3 THEN 'client_mismatch'
        WHEN revoked_at IS NOT NULL THEN 'revoked'
        WHEN LEAST(idle_expires_at, absolute_expires_at) <= clock_timestamp() THEN 'expired'
        WHEN generation < $4::int THEN 'unknown'
        WHEN generation > $4::int + 1 THEN 'reuse_detected'
        WHEN generation = $4::int + 1 AND NOT undelivered
             AND rotated_at + make_interval(secs => $7::float8) <= clock_timestamp() THEN 'reuse_detected'
        WHEN NOT (cardinality($6::text[]) = 0 OR resource = ANY ($6)) THEN 'resource_mismatch'
        WHEN NOT scopes @> $5::text[] THEN 'scope_exceeded'
        WHEN generation = $4::int + 1 THEN 'retried'
        ELSE 'unsettled'
      END AS verdict
    FROM family
  ), delivered AS (
    UPDATE token.refresh_family AS f
    SET undelivered = false,
        hand_outs = CASE WHEN s.undelivered THEN 1 ELSE f.hand_outs + 1 END,
        rotated_at = CASE WHEN s.undelivered THEN clock_timestamp() ELSE f.rotated_at END,
        idle_expires_at = CASE WHEN s.undelivered
          THEN LEAST(f.absolute_expires_at, clock_timestamp() + make_interval(secs => $9::float8))
          ELSE f.idle_expires_at END
    FROM settled AS s
    WHERE f.tenant_id = s.tenant_id AND f.family_id = s.family_id AND s.verdict = 'retried'
  ), revoked AS (
    UPDATE token.refresh_family AS f
    SET revoked_at = clock_timestamp(), revoked_cause = 'reuse_detected'
    FROM settled AS s
    WHERE f.tenant_id = s.tenant_id AND f.family_id = s.family_id AND s.verdict = 'reuse_detected'
  ), ${onRecord('settled', "verdict = 'reuse_detected'")}, audited AS (${auditInsert('settled', '$8', "e ->> 'when' = s.verdict")})
  SELECT verdict, generation, ${grantColumns} FROM settled`;

/**
 * One attempt to hand the live generation out failed. When it was the last one that held it, nothing but the generation
 * is left of the rotation. $1 tenant, $2 family, $3 generation, $4 audit
 */
export const markUndelivered = `
  WITH marked AS (
    UPDATE token.refresh_family
    SET hand_outs = GREATEST(hand_outs - 1, 0),
        undelivered = hand_outs <= 1,
        rotated_at = CASE WHEN hand_outs <= 1 THEN COALESCE(previous_rotated_at, rotated_at) ELSE rotated_at END,
        idle_expires_at = CASE WHEN hand_outs <= 1
          THEN COALESCE(previous_idle_expires_at, idle_expires_at) ELSE idle_expires_at END
    WHERE tenant_id = $1 AND family_id = $2::uuid AND generation = $3::int AND revoked_at IS NULL
    RETURNING tenant_id, family_id, user_id, session_id, undelivered
  ), audited AS (${auditInsert('marked', '$4', 's.undelivered')})
  SELECT count(*)::int AS marked FROM marked`;

/** $1 family, $2 tenant or null, $3 client or null, $4 reason, $5 address, $6 audit */
export const revoke = `
  WITH family AS MATERIALIZED (
    SELECT tenant_id, family_id, client_id, user_id, session_id, resource, revoked_at
    FROM token.refresh_family
    WHERE family_id = $1::uuid AND ($2::text IS NULL OR (tenant_id = $2 AND client_id = $3))
    FOR UPDATE
  ), revoked AS (
    UPDATE token.refresh_family AS f
    SET revoked_at = clock_timestamp(), revoked_cause = 'revoked', revoked_reason = $4, revoked_by_ip = $5
    FROM family AS s
    WHERE f.tenant_id = s.tenant_id AND f.family_id = s.family_id AND s.revoked_at IS NULL
  ), ${onRecord('family', 'revoked_at IS NULL')}, audited AS (${auditInsert('family', '$6', 's.revoked_at IS NULL')})
  SELECT (revoked_at IS NOT NULL) AS already FROM family`;

/**
 * While the live generation was not handed out, its predecessor is what the client has, and what a refresh takes.
 * $1 family, $2 generation
 */
export const findLive = `
  SELECT tenant_id, client_id, ${grantColumns},
         floor(extract(epoch FROM rotated_at))::float8 AS issued_at,
         floor(extract(epoch FROM idle_expires_at))::float8 AS expires_at
  FROM token.refresh_family
  WHERE family_id = $1::uuid AND revoked_at IS NULL
    AND (generation = $2::int OR (undelivered AND generation = $2::int + 1))
    AND idle_expires_at > clock_timestamp() AND absolute_expires_at > clock_timestamp()`;

/**
 * The marker decides; family and audit rows exist only where it was inserted, and it is not for a code of a session that
 * was ended. $5 is null when no family starts.
 * $1 tenant, $2 kind, $3 hash, $4 client, $5 family or null, $6 user, $7 scopes, $8 resource, $9 session, $10 issuer,
 * $11 auth_time, $12 idle seconds, $13 absolute seconds, $14 audit
 */
export const redeem = `
  WITH ended AS MATERIALIZED (
    SELECT FROM token.ended_session
    WHERE tenant_id = $1 AND session_id = $9 AND $2 = 'authorization_code'
  ), marker AS (
    INSERT INTO token.redemption (tenant_id, kind, hash, family_id)
    SELECT $1, $2, $3::bytea, $5::uuid WHERE NOT EXISTS (SELECT FROM ended)
    ON CONFLICT (tenant_id, kind, hash) DO NOTHING
    RETURNING tenant_id, family_id, $6::text AS user_id, $9::text AS session_id
  ), family AS (
    INSERT INTO token.refresh_family (tenant_id, family_id, client_id, user_id, generation, scopes, resource, session_id,
                                      issuer, auth_time, idle_expires_at, absolute_expires_at)
    SELECT tenant_id, family_id, $4::text, user_id, 1, $7::text[], $8::text, session_id, $10::text, $11::bigint,
           clock_timestamp() + make_interval(secs => LEAST($12::float8, $13::float8)),
           clock_timestamp() + make_interval(secs => $13::float8)
    FROM marker WHERE family_id IS NOT NULL
  ), audited AS (${auditInsert('marker', '$14')})
  SELECT (SELECT count(*) FROM marker)::int AS redeemed, EXISTS (SELECT FROM ended) AS session_ended`;

/**
 * Finds a value that was redeemed before. A code ends what its first redemption started (RFC 6749 §4.1.2); a device or a CIBA
 * client that polled twice at once did nothing wrong (RFC 8628 §3.5). $1 tenant, $2 kind, $3 hash, $4 audit
 */
export const replay = `
  WITH marker AS (
    SELECT m.tenant_id, m.kind, m.family_id, f.user_id, f.session_id
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
  ), ${onRecord('revoked', 'true')}, audited AS (${auditInsert('marker', '$4', "e ->> 'when' = 'always'")}
  ), audited_revocation AS (${auditInsert('revoked', '$4', "e ->> 'when' = 'revoked'")})
  SELECT count(*)::int AS found FROM marker`;

/** $1 tenant, $2 kind, $3 hash */
export const findRedemption = `
  SELECT family_id FROM token.redemption WHERE tenant_id = $1 AND kind = $2 AND hash = $3::bytea`;

/** $1 tenant, $2 session */
export const noteSessionEnd = `
  INSERT INTO token.ended_session (tenant_id, session_id) VALUES ($1, $2)
  ON CONFLICT (tenant_id, session_id) DO NOTHING`;

/** $1 limit */
export const purgeSessionEnds = `
  DELETE FROM token.ended_session
  WHERE (tenant_id, session_id) IN (
    SELECT tenant_id, session_id FROM token.ended_session
    WHERE ended_at < statement_timestamp() - interval '1 day'
    LIMIT $1::int FOR UPDATE SKIP LOCKED)`;

/** $1 limit. Told by the absolute expiry alone: an index on the idle one would make every rotation write indexes. */
export const purgeFamilies = `
  DELETE FROM token.refresh_family
  WHERE (tenant_id, family_id) IN (
    SELECT tenant_id, family_id FROM token.refresh_family
    WHERE absolute_expires_at < statement_timestamp() - interval '1 day'
    LIMIT $1::int FOR UPDATE SKIP LOCKED)`;

/**
 * $1 limit. A marker must outlive every chance of its value being presented again, also from a short-lived store that
 * was restored from an old copy.
 */
export const purgeRedemptions = `
  DELETE FROM token.redemption
  WHERE (tenant_id, kind, hash) IN (
    SELECT tenant_id, kind, hash FROM token.redemption
    WHERE redeemed_at < statement_timestamp() - interval '7 days'
    LIMIT $1::int FOR UPDATE SKIP LOCKED)`;
