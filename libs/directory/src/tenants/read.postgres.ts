import type { Queryable } from '@tessera/stores';
import { mostNames, type Everybody } from '../apply/impact/impact.ts';
import { readApplications } from '../applications/read.postgres.ts';
import { readProviders } from '../providers/read.postgres.ts';
import { readResources } from '../resources/read.postgres.ts';
import { readRoles, roleRecords } from '../roles/read.postgres.ts';
import type { TenantState } from '../store/records.ts';
import { readUsers } from '../users/read.postgres.ts';
import { tenantColumns, type TenantRecord } from './fields.ts';
import type { ListedIssuers } from './issuer.ts';

/** Undefined if unknown. */
export async function findTenant(queryable: Queryable, tenantId: string): Promise<TenantRecord | undefined> {
  const { rows } = await queryable.query({
    name: 'directory.find_tenant',
    text: `SELECT ${tenantColumns.selected} FROM directory.tenant t WHERE t.tenant_id = $1`,
    values: [tenantId],
  });
  return rows[0] && tenantColumns.read(rows[0]);
}

interface IssuerRow {
  readonly tenant_id: string;
  readonly issuer: string;
  readonly passkey_domain: string;
  readonly algorithms: readonly string[];
}

/** The tenants that have an issuer of their own, and the algorithms that resources declare. */
export async function tenantIssuers(queryable: Queryable): Promise<ListedIssuers> {
  const { rows } = await queryable.query<IssuerRow>({
    name: 'directory.tenant_issuers',
    text: `SELECT t.tenant_id, t.issuer, t.passkey_domain, ARRAY(
             SELECT DISTINCT r.signing_algorithm FROM directory.api_resource r
             WHERE r.tenant_id = t.tenant_id AND r.signing_algorithm <> 'RS256' ORDER BY 1) AS algorithms
           FROM directory.tenant t WHERE t.issuer <> ''
           UNION ALL
           SELECT '', '', '', ARRAY(
             SELECT DISTINCT r.signing_algorithm FROM directory.api_resource r JOIN directory.tenant t USING (tenant_id)
             WHERE t.issuer = '' AND r.signing_algorithm <> 'RS256' ORDER BY 1)
           ORDER BY tenant_id`,
  });
  const [shared, ...own] = rows;
  return {
    sharedAlgorithms: shared?.algorithms ?? [],
    issuers: own.map((row) => ({
      tenantId: row.tenant_id,
      issuer: row.issuer,
      passkeyDomain: row.passkey_domain,
      signingAlgorithms: row.algorithms,
    })),
  };
}

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

/** Whether a tenant has no record. */
export async function isEmpty(tx: Queryable, tenantId: string): Promise<boolean> {
  const { rows } = await tx.query<{ is_empty: boolean }>({
    name: 'directory.tenant_is_empty',
    text: `SELECT NOT EXISTS (SELECT FROM directory.api_resource WHERE tenant_id = $1)
              AND NOT EXISTS (SELECT FROM ${roleRecords} ro WHERE ro.tenant_id = $1)
              AND NOT EXISTS (SELECT FROM directory.provider WHERE tenant_id = $1)
              AND NOT EXISTS (SELECT FROM directory.user_account WHERE tenant_id = $1)
              AND NOT EXISTS (SELECT FROM directory.application WHERE tenant_id = $1) AS is_empty`,
    values: [tenantId],
  });
  return rows[0]?.is_empty ?? true;
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
