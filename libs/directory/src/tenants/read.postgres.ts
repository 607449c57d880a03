import type { Queryable } from '@tessera/stores';
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
