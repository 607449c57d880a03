import type { Queryable } from '@tessera/stores';
import { readApplications } from '../applications/read.postgres.ts';
import { mostNames, type Everybody } from '../plans/impact.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import { readProviders } from '../providers/read.postgres.ts';
import { readResources } from '../resources/read.postgres.ts';
import { readRoles } from '../roles/read.postgres.ts';
import { findTenant } from '../tenants/read.postgres.ts';
import { readUsers } from '../users/read.postgres.ts';

/** Everything of a tenant, as it stands inside the transaction; undefined when there is no such tenant. */
export async function readTenantState(tx: Queryable, tenantId: string): Promise<TenantState | undefined> {
  const tenant = await findTenant(tx, tenantId);
  if (tenant === undefined) return undefined;
  return {
    tenant,
    resources: await readResources(tx, tenantId),
    roles: await readRoles(tx, tenantId),
    providers: await readProviders(tx, tenantId),
    users: await readUsers(tx, tenantId),
    applications: await readApplications(tx, tenantId),
  };
}

/** Everybody of a tenant, and its applications: how many, and the first hundred. */
export async function everybodyOf(tx: Queryable, tenantId: string): Promise<Everybody> {
  const named = (table: string, name: string) => `(
    SELECT coalesce(array_agg(name), '{}') FROM (
      SELECT ${name} AS name FROM directory.${table} WHERE tenant_id = $1 ORDER BY ${name} COLLATE "C" LIMIT ${mostNames}) AS first)`;
  const { rows } = await tx.query<Everybody>({
    name: 'directory.everybody_of',
    text: `SELECT (SELECT count(*)::int FROM directory.user_account WHERE tenant_id = $1) AS people,
                  ${named('user_account', 'username')} AS usernames,
                  (SELECT count(*)::int FROM directory.application WHERE tenant_id = $1) AS applications,
                  ${named('application', 'client_id')} AS "clientIds"`,
    values: [tenantId],
  });
  const [found] = rows;
  if (found === undefined) throw new Error('The count of a tenant has no row.');
  return found;
}
