import { auditInsert } from '@tessera/audit';
import type { Database } from '@tessera/stores';
import { grantOf, type GrantRow } from '../store/stored-grant.ts';
import {
  shortestDeliverySeconds,
  type Claim,
  type Delivery,
  type DeliveryStore,
  type TakenPush,
} from './delivery-store.ts';

const columns = `delivery_id, tenant_id, client_id, hash, request_id, user_id, mode, outcome, sealed, sealed_tokens,
  attempts AS claim, attempts - uncounted AS attempt, call_id, ip_address,
  extract(epoch FROM expires_at - now())::float8 AS remaining_seconds`;

/**
 * Up to $1 due rows of one kind, leased for $2 seconds; locked rows belong to another process. `attempts` is the number of
 * the last claim. It is below `uncounted` only after a process of version 0.1 reset it (compatibility until 0.3).
 */
function leased(awaitsTokens: boolean, condition = ''): string {
  return `
  free AS MATERIALIZED (
    SELECT delivery_id FROM device.delivery
    WHERE awaits_tokens = ${awaitsTokens} AND due_at <= now()${condition}
    ORDER BY due_at LIMIT $1::int FOR UPDATE SKIP LOCKED
  ), leased AS (
    UPDATE device.delivery
    SET attempts = GREATEST(attempts, uncounted) + 1, due_at = now() + make_interval(secs => $2::float8)
    WHERE delivery_id IN (SELECT delivery_id FROM free)
    RETURNING ${columns}
  )`;
}

/** $3 clients whose deliveries are skipped */
const claim = `
  WITH ${leased(false, ' AND client_id <> ALL($3::text[])')}
  SELECT w.pushes_wait, leased.*
  FROM (SELECT EXISTS (SELECT FROM device.delivery WHERE awaits_tokens AND due_at <= now()) AS pushes_wait) AS w
  LEFT JOIN leased ON true`;

const take = `
  WITH ${leased(true)}
  SELECT leased.*, d.user_grant, d.scopes, d.resource, d.auth_time::float8 AS auth_time, d.session_id, d.issuer
  FROM leased JOIN device.decision AS d USING (tenant_id, hash)
  WHERE d.kind = 'auth_req_id'`;

/** $1 delivery, $2 claim, $3 encrypted tokens or null, $4 minimum remaining lifetime in seconds */
const handOver = `
  UPDATE device.delivery
  SET awaits_tokens = false, uncounted = attempts, due_at = now(), sealed_tokens = $3::text,
      outcome = CASE WHEN $3::text IS NULL THEN 'failed' ELSE outcome END,
      expires_at = GREATEST(expires_at, now() + make_interval(secs => $4::float8))
  WHERE delivery_id = $1 AND attempts = $2::int AND attempts > uncounted AND awaits_tokens`;

/** $1 delivery, $2 claim, $3 seconds; `uncounted` attempts do not count */
const again = (uncounted: 0 | 1): string => `
  UPDATE device.delivery SET due_at = now() + make_interval(secs => $3::float8), uncounted = uncounted + ${uncounted}
  WHERE delivery_id = $1 AND attempts = $2::int AND NOT awaits_tokens`;
const retry = again(0);
const giveBack = again(1);

/** $1 delivery, $2 claim, $3 audit record */
const withdraw = `
  WITH withdrawn AS (
    UPDATE device.delivery
    SET awaits_tokens = true, uncounted = attempts, sealed_tokens = NULL, due_at = now(), expires_at = now()
    WHERE delivery_id = $1 AND attempts = $2::int AND NOT awaits_tokens
    RETURNING delivery_id
  )${auditInsert('device', 'SELECT $3::jsonb FROM withdrawn')}`;

const addPrompt = `
  INSERT INTO device.delivery
    (delivery_id, tenant_id, client_id, hash, request_id, user_id, mode, outcome, awaits_tokens, sealed, call_id,
     ip_address, due_at, expires_at)
  VALUES ($1, $2, $3, $4, $5, $6, 'prompt', 'pending', false, '', $7, $8, clock_timestamp(),
          clock_timestamp() + make_interval(secs => $9::float8))`;

/** $1 delivery, $2 claim */
const discard = `DELETE FROM device.delivery WHERE delivery_id = $1 AND attempts = $2::int`;

/** $1 delivery, $2 claim, $3 audit record */
const finish = `
  WITH finished AS (
    DELETE FROM device.delivery WHERE delivery_id = $1 AND attempts = $2::int RETURNING delivery_id
  )${auditInsert('device', 'SELECT $3::jsonb FROM finished')}`;

const purge = `
  DELETE FROM device.delivery WHERE delivery_id IN (
    SELECT delivery_id FROM device.delivery WHERE expires_at < now() - interval '1 day'
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )`;

interface DeliveryRow {
  readonly delivery_id: string;
  readonly tenant_id: string;
  readonly client_id: string;
  readonly hash: Buffer;
  readonly request_id: string;
  readonly user_id: string;
  readonly mode: Delivery['mode'];
  readonly outcome: Delivery['outcome'];
  readonly sealed: string;
  readonly sealed_tokens: string | null;
  readonly claim: number;
  readonly attempt: number;
  readonly call_id: string;
  readonly ip_address: string;
  readonly remaining_seconds: number;
}

/** All columns but the first are null if there is no delivery. */
type ClaimedRow = { readonly pushes_wait: boolean } & (DeliveryRow | { readonly delivery_id: null });

type TakenRow = DeliveryRow & GrantRow;

/** Deliveries in Postgres or PGlite. */
export function createDeliveryStore(database: Database): DeliveryStore {
  const change = async (
    name: string,
    text: string,
    { deliveryId, claim: number }: Claim,
    values: unknown[] = [],
  ) => {
    const { rowCount } = await database.query({ name, text, values: [deliveryId, number, ...values] });
    return rowCount === 1;
  };
  return {
    async addPrompt({ deliveryId, request, userId, trail, remainingSeconds }) {
      const { tenantId, clientId, hash, requestId } = request;
      const about = [deliveryId, tenantId, clientId, Buffer.from(hash, 'hex'), requestId, userId];
      await database.query({
        name: 'device.add_prompt',
        text: addPrompt,
        values: [...about, trail.requestId, trail.ipAddress, remainingSeconds],
      });
    },
    async claim(limit, leaseSeconds, skipped = []) {
      const { rows } = await database.query<ClaimedRow>({
        name: 'device.claim_deliveries',
        text: claim,
        values: [limit, leaseSeconds, skipped],
      });
      const due = rows.flatMap((row) => (row.delivery_id === null ? [] : [deliveryOf(row)]));
      return { due, pushesWait: rows[0]?.pushes_wait ?? false };
    },
    async take(limit, leaseSeconds) {
      const { rows } = await database.query<TakenRow>({
        name: 'device.take_pushes',
        text: take,
        values: [limit, leaseSeconds],
      });
      return rows.map(pushOf);
    },
    handOver: (taken, sealedTokens) =>
      change('device.hand_over_push', handOver, taken, [sealedTokens ?? null, shortestDeliverySeconds]),
    async retry(claimed, delaySeconds) {
      await change('device.retry_delivery', retry, claimed, [delaySeconds]);
    },
    async giveBack(claimed, delaySeconds) {
      await change('device.give_back_delivery', giveBack, claimed, [delaySeconds]);
    },
    finish: (claimed, audit) =>
      audit === undefined
        ? change('device.discard_delivery', discard, claimed)
        : change('device.finish_delivery', finish, claimed, [audit.record]),
    withdraw: (claimed, audit) => change('device.withdraw_push', withdraw, claimed, [audit.record]),
    async purge(limit) {
      const statement = { name: 'device.purge_deliveries', text: purge, values: [limit] };
      return (await database.query(statement)).rowCount;
    },
  };
}

function deliveryOf(row: DeliveryRow): Delivery {
  return {
    deliveryId: row.delivery_id,
    claim: row.claim,
    attempt: row.attempt,
    tenantId: row.tenant_id,
    clientId: row.client_id,
    hash: row.hash.toString('hex'),
    requestId: row.request_id,
    userId: row.user_id,
    mode: row.mode,
    outcome: row.outcome,
    sealed: row.sealed,
    sealedTokens: row.sealed_tokens ?? undefined,
    trail: { requestId: row.call_id, ipAddress: row.ip_address },
    remainingSeconds: row.remaining_seconds,
  };
}

function pushOf(row: TakenRow): TakenPush {
  return { ...deliveryOf(row), grant: grantOf(row) };
}
