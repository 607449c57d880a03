import type { Queryable } from '@tessera/stores';
import { putOf, type TenantPlan } from '../apply/plan.ts';
import { jwtAudiencesOf } from '../resources/checks.ts';
import type { ResourceRecord } from '../resources/fields.ts';
import { readResources } from '../resources/read.postgres.ts';
import { readRoles } from '../roles/read.postgres.ts';
import { findTenant } from '../tenants/read.postgres.ts';
import type { AuditRuntime } from './append-events.postgres.ts';
import { carryOut, claimsValues, TakenMeanwhile } from './carry-out.postgres.ts';
import { lockTenant } from './locks.postgres.ts';
import { lockRecord } from './read-records.postgres.ts';
import type { ClaimedRecord, RecordTransaction, References, UniqueValues } from './store.ts';
import { takenValues } from './taken-values.postgres.ts';

/** How long what a create created is kept. */
const kept = `interval '24 hours'`;

/** Reads and writes of one transaction that changes a record of a tenant. */
export async function changeRecord<T>(
  tx: Queryable,
  runtime: AuditRuntime,
  tenantId: string,
  how: 'alone' | 'together',
  work: (records: RecordTransaction) => Promise<T>,
): Promise<T> {
  await lockTenant(tx, tenantId, how);
  const tenant = await findTenant(tx, tenantId);
  // A tenant with another issuer brings all of its audiences there.
  const taken = async (plan: TenantPlan) => {
    if (!claimsValues(plan)) return [];
    const resources = plan.tenant === 'unchanged' ? putOf(plan.resources) : await readResources(tx, tenantId);
    return takenValues(tx, tenantId, valuesOf(plan, resources));
  };
  return work({
    tenant,
    find: (kind, id) => lockRecord(tx, kind, tenantId, id),
    roles: async () => (await readRoles(tx, tenantId)).map(({ name }) => name),
    resources: () => readResources(tx, tenantId),
    usersOf: (references) => usersOf(tx, tenantId, references),
    isEmpty: () => isEmpty(tx, tenantId),
    takenIdentifiers: (userId, identifiers) => takenIdentifiers(tx, tenantId, userId, identifiers),
    taken,
    claim: (requestId, created) => claim(tx, tenantId, requestId, created),
    async carryOut(change) {
      await carryOut(tx, runtime, change);
      // Each tenant has its own lock, so another may have taken a value meanwhile. The later one to append to the feed sees it.
      if ((await taken(change.plan)).length > 0) throw new TakenMeanwhile();
    },
  });
}

function valuesOf(
  { applications, desired, tenant }: TenantPlan,
  put: readonly ResourceRecord[],
): UniqueValues {
  return {
    clientIds: applications.created.map(({ clientId }) => clientId),
    issuer: tenant === 'unchanged' ? '' : desired.tenant.issuer,
    audiences: desired.tenant.issuer === '' ? put.map(({ audience, shared }) => ({ audience, shared })) : [],
    jwtAudiences: jwtAudiencesOf({ resources: put }),
    replacedTenants: [],
    owner: '',
  };
}

async function usersOf(
  tx: Queryable,
  tenantId: string,
  { scopes = [], audiences = [], roles = [] }: References,
): Promise<string[]> {
  const { rows } = await tx.query<{ name: string }>({
    name: 'directory.users_of_records',
    text: `SELECT 'application ' || client_id AS name FROM directory.application
            WHERE tenant_id = $1 AND (scopes && $2::text[] OR introspect_audiences && $3::text[] OR allowed_roles && $4::text[])
            UNION ALL
           SELECT 'user ' || u.username
             FROM directory.user_role r
             JOIN directory.user_account u ON u.tenant_id = r.tenant_id AND u.user_id = r.user_id
            WHERE r.tenant_id = $1 AND r.role = ANY($4::text[])
            LIMIT 20`,
    values: [tenantId, scopes, audiences, roles],
  });
  return rows.map(({ name }) => name);
}

async function isEmpty(tx: Queryable, tenantId: string): Promise<boolean> {
  const { rows } = await tx.query<{ is_empty: boolean }>({
    name: 'directory.tenant_is_empty',
    text: `SELECT NOT EXISTS (SELECT FROM directory.api_resource WHERE tenant_id = $1)
              AND NOT EXISTS (SELECT FROM directory.role WHERE tenant_id = $1)
              AND NOT EXISTS (SELECT FROM directory.user_account WHERE tenant_id = $1)
              AND NOT EXISTS (SELECT FROM directory.application WHERE tenant_id = $1) AS is_empty`,
    values: [tenantId],
  });
  return rows[0]?.is_empty ?? true;
}

async function takenIdentifiers(
  tx: Queryable,
  tenantId: string,
  userId: string,
  identifiers: readonly string[],
): Promise<string[]> {
  const { rows } = await tx.query<{ identifier: string }>({
    name: 'directory.taken_identifiers',
    text: `SELECT identifier FROM directory.user_identifier
            WHERE tenant_id = $1 AND identifier = ANY($2::text[]) AND user_id <> $3`,
    values: [tenantId, identifiers, userId],
  });
  return rows.map(({ identifier }) => identifier);
}

/** A second create with the same identifier waits here for the commit of the first. */
async function claim(
  tx: Queryable,
  tenantId: string,
  requestId: string,
  { kind, id }: ClaimedRecord,
): Promise<ClaimedRecord | undefined> {
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
    text: `INSERT INTO directory.create_request AS present (tenant_id, request_id, kind, id) VALUES ($1, $2, $3, $4)
           ON CONFLICT (tenant_id, request_id) DO UPDATE
              SET kind = excluded.kind, id = excluded.id, created_at = excluded.created_at
            WHERE present.created_at < statement_timestamp() - ${kept}`,
    values: [tenantId, requestId, kind, id],
  });
  if (rowCount > 0) return undefined;
  const { rows } = await tx.query<ClaimedRecord>({
    name: 'directory.create_request',
    text: 'SELECT kind, id FROM directory.create_request WHERE tenant_id = $1 AND request_id = $2',
    values: [tenantId, requestId],
  });
  return rows[0];
}
