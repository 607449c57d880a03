import { listedKinds, recordKinds } from '../record-kinds.ts';
import { planDeletions } from '../plans/plan-record.ts';
import type { TenantPlan } from '../plans/plan.ts';
import { listRecords } from '../store/read-records.postgres.ts';
import type { RecordTransaction } from '../store/store.ts';
import type { TenantRecord } from '../tenants/fields.ts';
import { countedContents, type TenantContents } from '../store/tenant-contents.postgres.ts';

/** Deleted in one transaction: some hundred milliseconds, for which other changes of the tenant wait. */
const atOnce = 500;

/** What refers to others, as the kinds do that take the lock together, comes before them. */
const order = [
  ...listedKinds.filter((kind) => recordKinds[kind].lock === 'together').reverse(),
  ...listedKinds.filter((kind) => recordKinds[kind].lock !== 'together'),
];

/** The plan that deletes the next records of a tenant, and disables it; undefined if it has none. */
export async function nextDeletions(
  { tx, tenantId }: RecordTransaction,
  tenant: TenantRecord,
): Promise<TenantPlan | undefined> {
  const after: TenantRecord = { ...tenant, status: 'disabled' };
  for (const kind of order) {
    const { records } = await listRecords(tx, kind, tenantId, { after: '', search: '', size: atOnce });
    const found = records.map(({ record }) => record);
    if (found.length > 0) return planDeletions(tenant, { [recordKinds[kind].list]: found }, after);
  }
  return undefined;
}

/** What is kept of people and applications that were deleted: as many rows as there were records. */
const kept = ['deleted_record', 'person_seen'] as const;

/** Of each table. */
const forgottenAtOnce = 2000;

/** Forgets the next part of what is kept of those who are deleted; false if there was nothing. */
export async function forgetNext({ tx, tenantId }: RecordTransaction): Promise<boolean> {
  const parts = kept.map(
    (table) => `${table} AS (
      DELETE FROM directory.${table} WHERE ctid = ANY(ARRAY(
        SELECT ctid FROM directory.${table} WHERE tenant_id = $1 LIMIT ${forgottenAtOnce})) RETURNING 1)`,
  );
  const counted = kept.map((table) => `(SELECT count(*) FROM ${table})`).join(' + ');
  const { rows } = await tx.query<{ readonly forgotten: number }>({
    name: 'directory.forget_next_of_tenant',
    text: `WITH ${parts.join(', ')} SELECT (${counted})::int AS forgotten`,
    values: [tenantId],
  });
  return (rows[0]?.forgotten ?? 0) > 0;
}

/** Of a part that deletes what no kind of records counts. */
export const nothing: TenantContents = countedContents(() => 0);

/** How many records of each kind a plan deletes. */
export function deletedBy(plan: TenantPlan): TenantContents {
  return countedContents((kind) => plan[recordKinds[kind].list].deleted.length);
}
