import { temporarilyUnavailable } from '@tessera/oauth';
import type { Runtime } from '@tessera/process';
import type { Database } from '@tessera/stores';
import { auditParameter, settlementEvents, success } from './audit-events.ts';
import { auditFamily, isOfSession, recordRevocations, timeColumns, type TimesRow } from './sql-fragments.ts';
import type { RotationError, RotationOutcome, RotationRequest } from './store.ts';
import { grantColumnNames, grantColumns, grantOf, type GrantRow } from './grant-columns.ts';

/**
 * Rotates the live generation. $1 tenant, $2 family, $3 client, $4 generation, $5 scopes, $6 resources, $7 idle
 * seconds, $8 audit, $9 whether its session lives
 */
const rotateSql = `
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
      AND ($9::boolean OR NOT (${isOfSession}))
    RETURNING family_id, generation, rotated_at, idle_expires_at, ${grantColumnNames}
  ), audited AS (${auditFamily('rotated', '$8')})
  SELECT generation, ${timeColumns}, ${grantColumns} FROM rotated`;

/**
 * Decides, with the family locked, why a rotation found no row, and acts on it. The order of the cases matters: a
 * request of another client changes nothing in any state, and a request that exceeds the grant consumes nothing.
 * $1 tenant, $2 family, $3 client, $4 generation, $5 scopes, $6 resources, $7 retry window in seconds, $8 audit,
 * $9 idle seconds, $10 whether its session lives
 */
const settleRotationSql = `
  WITH family AS MATERIALIZED (
    SELECT family_id, generation, undelivered, rotated_at, idle_expires_at, absolute_expires_at, revoked_at,
           ${grantColumnNames}
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
        WHEN NOT $10::boolean AND ${isOfSession} THEN 'session_ended'
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
    RETURNING f.rotated_at, f.idle_expires_at
  ), revoked AS (
    UPDATE token.refresh_family AS f
    SET revoked_at = clock_timestamp(), revoked_cause = 'reuse_detected'
    FROM settled AS s
    WHERE f.tenant_id = s.tenant_id AND f.family_id = s.family_id AND s.verdict = 'reuse_detected'
  ), ${recordRevocations('settled', "verdict = 'reuse_detected'")}, audited AS (${auditFamily('settled', '$8', "e ->> 'when' = s.verdict")})
  SELECT verdict, generation, t.issued_at, t.expires_at, ${grantColumns}
  FROM settled LEFT JOIN (SELECT ${timeColumns} FROM delivered) AS t ON true`;

/** Rotates a refresh token; a superseded one outside the retry window revokes its family. */
export async function rotateRefreshToken(
  database: Database,
  runtime: Pick<Runtime, 'clock' | 'random'>,
  request: RotationRequest,
): Promise<RotationOutcome> {
  const { tenantId, familyId, clientId, generation, trail } = request;
  const key = [tenantId, familyId, clientId, generation, request.scopes, request.resources];
  const about = { tenantId, clientId, grantId: familyId };
  const rotated = await database.query<GenerationRow>({
    name: 'token.rotate',
    text: rotateSql,
    beforeSending: request.throwIfAborted,
    values: [
      ...key,
      request.idleSeconds,
      auditParameter(runtime, [success('refresh.rotated', about, trail)]),
      request.sessionLives,
    ],
  });
  const [row] = rotated.rows;
  if (row !== undefined) return { kind: 'rotated', ...liveOf(row) };

  const settled = await database.query<GenerationRow & { verdict: string }>({
    name: 'token.settle_rotation',
    text: settleRotationSql,
    beforeSending: request.throwIfAborted,
    values: [
      ...key,
      request.retryWindowSeconds,
      auditParameter(runtime, settlementEvents(about, trail)),
      request.idleSeconds,
      request.sessionLives,
    ],
  });
  return settledOutcome(settled.rows[0]);
}

const rotationErrors: ReadonlySet<string> = new Set<RotationError>([
  'unknown',
  'client_mismatch',
  'expired',
  'revoked',
  'session_ended',
  'resource_mismatch',
  'scope_exceeded',
  'reuse_detected',
]);

function isRotationError(verdict: string): verdict is RotationError {
  return rotationErrors.has(verdict);
}

function settledOutcome(row: (GenerationRow & { verdict: string }) | undefined): RotationOutcome {
  if (row === undefined) return { kind: 'unknown' };
  if (row.verdict === 'retried') return { kind: 'retried', ...liveOf(row) };
  if (isRotationError(row.verdict)) return { kind: row.verdict };
  // The rotation found no row, but the reason no longer holds: another request changed the family meanwhile. A retry
  // succeeds.
  throw temporarilyUnavailable(new Error('the refresh family changed twice during a rotation'));
}

interface GenerationRow extends GrantRow, TimesRow {
  readonly generation: number;
}

function liveOf(row: GenerationRow) {
  const { generation, issued_at: issuedAt, expires_at: expiresAt } = row;
  return { generation, grant: grantOf(row), issuedAt, expiresAt };
}
