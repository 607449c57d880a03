import type { Database, Queryable } from '@tessera/stores';
import { claimedValues } from '../plans/claimed-values.ts';
import type { TenantPlan } from '../plans/plan.ts';
import { findTenant } from '../tenants/read.postgres.ts';
import { againIfTakenMeanwhile, carryOut, TakenMeanwhile, type PlanRuntime } from './carry-out.postgres.ts';
import { lockTenant } from '../ground/locks.postgres.ts';
import { lockRecord, readRecords } from './read-records.postgres.ts';
import type { ClaimedRecord, KeptClaim, RecordTransaction } from './store.ts';
import { takenValues } from './taken-values.postgres.ts';

/** How long what a create created is kept. */
const kept = `interval '24 hours'`;

/**
 * Changes one record of a tenant in one transaction, which may be repeated, so that `work` must have no other effects.
 * @param how users and applications `together`; what they refer to `alone`
 */
export type ChangeRecord = <T>(
  tenantId: string,
  how: 'alone' | 'together',
  work: (records: RecordTransaction) => Promise<T>,
) => Promise<T>;

export function createChangeRecord(database: Database, runtime: PlanRuntime): ChangeRecord {
  return (tenantId, how, work) =>
    againIfTakenMeanwhile(() =>
      database.transaction(async (tx) => {
        await lockTenant(tx, tenantId, how);
        return work(await openRecords(tx, runtime, tenantId));
      }),
    );
}

/** Reads and writes of the transaction. */
async function openRecords(
  tx: Queryable,
  runtime: PlanRuntime,
  tenantId: string,
): Promise<RecordTransaction> {
  const tenant = await findTenant(tx, tenantId);
  const taken = async (plan: TenantPlan) => {
    const whole = plan.tenant === 'unchanged' ? plan : await besideRecords(tx, plan);
    return takenValues(tx, tenantId, claimedValues(whole), runtime);
  };
  return {
    tx,
    tenantId,
    tenant,
    find: (kind, id) => lockRecord(tx, kind, tenantId, id),
    taken,
    claim: (requestId, created) => claim(tx, tenantId, requestId, created),
    async carryOut(change) {
      await carryOut(tx, runtime, change);
      // Each tenant has its own lock, so another may have taken a value meanwhile. The later one to append to the feed
      // sees it.
      if ((await taken(change.plan)).length > 0) throw new TakenMeanwhile();
    },
  };
}

/**
 * The plan for a tenant alone, with the APIs and applications that it has: with another issuer it claims their names.
 */
async function besideRecords(
  tx: Queryable,
  { current, desired }: TenantPlan,
): Promise<Pick<TenantPlan, 'current' | 'desired'>> {
  const { tenantId, issuer } = desired.tenant;
  if (current?.tenant.issuer === issuer) return { current, desired };
  const records = {
    resources: await readRecords(tx, 'resource', tenantId),
    applications: await readRecords(tx, 'application', tenantId),
  };
  return { current: current && { ...current, ...records }, desired: { ...desired, ...records } };
}

/** A second create with the same identifier waits here for the commit of the first. */
async function claim(
  tx: Queryable,
  tenantId: string,
  requestId: string,
  { kind, id, digest }: ClaimedRecord & { readonly digest: Buffer },
): Promise<KeptClaim | undefined> {
  await tx.query({
    name: 'directory.prune_create_requests',
    text: `DELETE FROM directory.create_request
            WHERE (tenant_id, request_id) IN (
              SELECT tenant_id, request_id FROM directory.create_request
               WHERE created_at < statement_timestamp() - ${kept}
               ORDER BY created_at LIMIT 100 FOR UPDATE SKIP LOCKED)`,
  });
  const { rowCount } = await tx.query({
    name: 'directory.claim_create_request',
    text: `INSERT INTO directory.create_request AS present (tenant_id, request_id, kind, id, digest)
           VALUES ($1, $2, $3, $4, $5)
           ON CONFLICT (tenant_id, request_id) DO UPDATE
              SET kind = excluded.kind, id = excluded.id, created_at = excluded.created_at, digest = excluded.digest
            WHERE present.created_at < statement_timestamp() - ${kept}`,
    values: [tenantId, requestId, kind, id, digest],
  });
  if (rowCount > 0) return undefined;
  const { rows } = await tx.query<KeptClaim>({
    name: 'directory.create_request',
    text: 'SELECT kind, id, digest FROM directory.create_request WHERE tenant_id = $1 AND request_id = $2',
    values: [tenantId, requestId],
  });
  return rows[0];
}
