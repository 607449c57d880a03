import { auditInsert } from '@tessera/audit';
import type { Database } from '@tessera/stores';
import type { Claim, Delivery, DeliveryStore } from './delivery-store.ts';

/**
 * $1 limit, $2 seconds, $3 clients whose deliveries are skipped. Due rows, leased; locked rows belong to another
 * process. `attempts` is the number of the last claim. Modes of other versions are left to them. No row awaits tokens:
 * the index of what is due begins with that column.
 */
const claim = `
  WITH free AS MATERIALIZED (
    SELECT delivery_id FROM device.delivery
    WHERE NOT awaits_tokens AND mode IN ('ping', 'prompt') AND due_at <= now() AND client_id <> ALL($3::text[])
    ORDER BY due_at LIMIT $1::int FOR UPDATE SKIP LOCKED
  )
  UPDATE device.delivery SET attempts = attempts + 1, due_at = now() + make_interval(secs => $2::float8)
  WHERE delivery_id IN (SELECT delivery_id FROM free)
  RETURNING delivery_id, tenant_id, client_id, hash, request_id, user_id, mode, outcome, sealed, attempts AS claim,
    attempts - uncounted AS attempt, call_id, ip_address,
    extract(epoch FROM expires_at - now())::float8 AS remaining_seconds`;

/** $1 delivery, $2 claim, $3 seconds; `uncounted` attempts do not count */
const again = (uncounted: 0 | 1): string => `
  UPDATE device.delivery SET due_at = now() + make_interval(secs => $3::float8), uncounted = uncounted + ${uncounted}
  WHERE delivery_id = $1 AND attempts = $2::int`;
const retry = again(0);
const giveBack = again(1);

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
  readonly claim: number;
  readonly attempt: number;
  readonly call_id: string;
  readonly ip_address: string;
  readonly remaining_seconds: number;
}

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
      const { rows } = await database.query<DeliveryRow>({
        name: 'device.claim_deliveries',
        text: claim,
        values: [limit, leaseSeconds, skipped],
      });
      return rows.map(deliveryOf);
    },
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
    trail: { requestId: row.call_id, ipAddress: row.ip_address },
    remainingSeconds: row.remaining_seconds,
  };
}
