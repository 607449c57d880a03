import { auditInsert } from '@tessera/audit';
import type { Database } from '@tessera/stores';
import { shortestDeliverySeconds } from './delivery-store.ts';
import type { Decision } from '../pending-grant.ts';
import { grantOf, storedGrantOf, type StoredGrant } from './stored-grant.ts';
import type { Confirmation, DecisionStore, NewDecision, RecordedDecision } from './decision-store.ts';

const decide = `
  WITH decided AS (
    INSERT INTO device.decision
      (tenant_id, kind, hash, client_id, decision, user_id, session_id, auth_time, scopes, resource, issuer,
       expires_at, user_grant)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9::text[], $10, $11,
            clock_timestamp() + make_interval(secs => $12::float8), $21::jsonb)
    ON CONFLICT (tenant_id, kind, hash) DO NOTHING
    RETURNING decision, user_id
  ), audited AS (${auditInsert('device', 'SELECT $13::jsonb FROM decided')}
  ), delivery AS (
    INSERT INTO device.delivery
      (delivery_id, tenant_id, client_id, hash, request_id, user_id, mode, outcome, awaits_tokens, sealed, call_id,
       ip_address, due_at, expires_at)
    SELECT $14::text, $1, $4, $3, $15::text, $6, $16::text, $5, false, $17::text,
           $18::text, $19::text, clock_timestamp(),
           clock_timestamp() + make_interval(secs => GREATEST($12::float8, $20::float8))
    FROM decided WHERE $14::text IS NOT NULL
  )
  SELECT decision, user_id FROM decided`;

const recorded = `SELECT decision, user_id FROM device.decision WHERE tenant_id = $1 AND kind = $2 AND hash = $3`;

const confirm = `
  SELECT decision, user_id, user_grant
  FROM device.decision
  WHERE tenant_id = $1 AND kind = $2 AND hash = $3 AND client_id = $4 AND expires_at > clock_timestamp()`;

const purge = `
  DELETE FROM device.decision WHERE (tenant_id, kind, hash) IN (
    SELECT tenant_id, kind, hash FROM device.decision WHERE expires_at < statement_timestamp() - interval '1 day'
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )`;

interface RecordedRow {
  readonly decision: Decision;
  readonly user_id: string;
}

interface DecisionRow extends RecordedRow {
  readonly user_grant: StoredGrant;
}

/** Decisions in Postgres or PGlite. */
export function createDecisionStore(database: Database): DecisionStore {
  return {
    async decide(decision, audit): Promise<RecordedDecision> {
      const { rows } = await database.query<RecordedRow>({
        name: 'device.decide',
        text: decide,
        values: [
          ...decisionValues(decision),
          audit.record,
          ...deliveryValues(decision),
          storedGrantOf(decision),
        ],
      });
      if (rows[0] !== undefined) return { ...recordedOf(rows[0]), isNew: true };
      // A concurrent call has committed its row, which that statement's snapshot does not show.
      const { tenantId, kind, hash } = decision.request;
      const earlier = await database.query<RecordedRow>({
        name: 'device.standing_decision',
        text: recorded,
        values: [tenantId, kind, Buffer.from(hash, 'hex')],
      });
      if (earlier.rows[0] === undefined) throw new Error('the recorded decision was not found');
      return { ...recordedOf(earlier.rows[0]), isNew: false };
    },

    async confirm(kind, hash, { tenantId, clientId }): Promise<Confirmation> {
      const { rows } = await database.query<DecisionRow>({
        name: 'device.confirm',
        text: confirm,
        values: [tenantId, kind, Buffer.from(hash, 'hex'), clientId],
      });
      const [row] = rows;
      if (row === undefined) return undefined;
      // Without a grant, as version 0.1 stored it, nothing was approved.
      const grant = row.decision === 'approved' ? grantOf(row.user_grant) : undefined;
      return grant === undefined ? { decision: 'denied' } : { decision: 'approved', grant };
    },

    async purge(limit) {
      const { rowCount } = await database.query({
        name: 'device.purge_decisions',
        text: purge,
        values: [limit],
      });
      return rowCount;
    },
  };
}

function decisionValues(decision: NewDecision): unknown[] {
  const { request, userId, sessionId, authentication, remainingSeconds } = decision;
  return [
    request.tenantId,
    request.kind,
    Buffer.from(request.hash, 'hex'),
    request.clientId,
    decision.decision,
    userId,
    sessionId,
    authentication.time,
    request.scopes,
    request.resource,
    request.issuer,
    remainingSeconds,
  ];
}

function deliveryValues({ request, delivery }: NewDecision): unknown[] {
  const { deliveryId = null, mode = null, sealed = null, trail } = delivery ?? {};
  const { requestId = null, ipAddress = null } = trail ?? {};
  return [deliveryId, request.requestId, mode, sealed, requestId, ipAddress, shortestDeliverySeconds];
}

function recordedOf({ decision, user_id: userId }: RecordedRow): Omit<RecordedDecision, 'isNew'> {
  return { decision, userId };
}
