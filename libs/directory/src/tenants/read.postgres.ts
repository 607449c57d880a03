import type { Queryable } from '@tessera/stores';
import { roleRecords } from '../roles/read.postgres.ts';
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
  readonly endpoints: string;
  readonly algorithms: readonly string[];
}

/** The tenants that have an issuer of their own, and the algorithms that resources declare. */
export async function tenantIssuers(queryable: Queryable): Promise<ListedIssuers> {
  const { rows } = await queryable.query<IssuerRow>({
    name: 'directory.tenant_issuers',
    text: `SELECT t.tenant_id, t.issuer, t.passkey_domain, t.endpoints, ARRAY(
             SELECT DISTINCT r.signing_algorithm FROM directory.api_resource r
             WHERE r.tenant_id = t.tenant_id AND r.signing_algorithm <> 'RS256' ORDER BY 1) AS algorithms
           FROM directory.tenant t WHERE t.issuer <> ''
           UNION ALL
           SELECT '', '', '', '', ARRAY(
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
      endpoints: row.endpoints,
      signingAlgorithms: row.algorithms,
    })),
  };
}

/** The tables of what is in a tenant, by the names of their kinds. */
const contents = {
  people: 'directory.user_account',
  applications: 'directory.application',
  resources: 'directory.api_resource',
  roles: roleRecords,
  providers: 'directory.provider',
};

/** How many records of each kind a tenant has. */
export type TenantContents = Readonly<Record<keyof typeof contents, number>>;

export async function contentsOf(tx: Queryable, tenantId: string): Promise<TenantContents> {
  const counts = Object.entries(contents).map(
    ([kind, table]) => `(SELECT count(*)::int FROM ${table} r WHERE r.tenant_id = $1) AS ${kind}`,
  );
  const { rows } = await tx.query<TenantContents>({
    name: 'directory.tenant_contents',
    text: `SELECT ${counts.join(', ')}`,
    values: [tenantId],
  });
  const [found] = rows;
  if (found === undefined) throw new Error('The count of a tenant has no row.');
  return found;
}

/** The first ten owners, but this one, of what is in a tenant. */
export async function otherOwnersIn(tx: Queryable, tenantId: string, owner: string): Promise<string[]> {
  const owners = Object.values(contents).map(
    (table) => `SELECT r.owner FROM ${table} r WHERE r.tenant_id = $1 AND r.owner <> $2`,
  );
  const { rows } = await tx.query<{ readonly owner: string }>({
    name: 'directory.owners_in_tenant',
    text: `SELECT DISTINCT owner FROM (${owners.join(' UNION ALL ')}) AS others ORDER BY owner LIMIT 10`,
    values: [tenantId, owner],
  });
  return rows.map(({ owner: other }) => other);
}

/** Whether a tenant has no record. */
export async function isEmpty(tx: Queryable, tenantId: string): Promise<boolean> {
  const none = Object.values(contents).map(
    (table) => `NOT EXISTS (SELECT FROM ${table} r WHERE r.tenant_id = $1)`,
  );
  const { rows } = await tx.query<{ is_empty: boolean }>({
    name: 'directory.tenant_is_empty',
    text: `SELECT ${none.join(' AND ')} AS is_empty`,
    values: [tenantId],
  });
  return rows[0]?.is_empty ?? true;
}
