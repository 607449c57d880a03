/**
 * Parts of the statements. Each change is one statement together with its audit rows, so that both are committed or
 * neither.
 *
 * An `audit` parameter is a JSON array of objects with a `record`; one with a `when` is written only for that verdict.
 * The statements add to the record what only the family knows: subject, session, family.
 */
import { auditInsert } from '@tessera/audit';

/** Inserts the audit rows of `parameter` once for each row of `source`, which has the columns of a family. */
export function auditFamily(source: string, parameter: string, condition = 'true'): string {
  return auditInsert(
    'token',
    `SELECT (e -> 'record') || jsonb_strip_nulls(jsonb_build_object(
             'tenantId', s.tenant_id, 'subject', s.user_id,
             'sessionId', NULLIF(s.session_id, ''), 'grantId', s.family_id))
     FROM ${source} AS s, jsonb_array_elements(${parameter}::jsonb) AS e
     WHERE ${condition}`,
  );
}

/**
 * Records the families of `source` as revoked, or access tokens if it has a `tokenId`; their rows are locked already.
 * Sequence numbers must follow the order of the commits, so the advisory lock is taken before the number and held until
 * the commit. No statement waits for a row while it holds the lock.
 */
export function recordRevocations(source: string, condition: string, tokenId = 'NULL'): string {
  return `
  ordered AS MATERIALIZED (
    SELECT tenant_id, family_id, client_id, user_id, session_id, resource, ${tokenId}::text AS token_id,
           pg_advisory_xact_lock(hashtextextended('tessera.token.revocation', 0))
    FROM ${source} WHERE ${condition}
  ), recorded AS (
    INSERT INTO token.revocation (tenant_id, family_id, client_id, user_id, session_id, resource, token_id)
    SELECT tenant_id, family_id, client_id, user_id, session_id, resource, token_id FROM ordered
  )`;
}

/** Families that live no longer than their session, as the index `refresh_family_session` has it. */
export const isOfSession = `NOT scopes @> '{offline_access}'`;

/** Columns of a family's live token (`TokenTimes`). */
export const timeColumns = `floor(extract(epoch FROM rotated_at))::float8 AS issued_at,
    floor(extract(epoch FROM idle_expires_at))::float8 AS expires_at`;

export interface TimesRow {
  readonly issued_at: number;
  readonly expires_at: number;
}
