import type { Queryable } from '@tessera/stores';

/** What users, applications and resources refer to by name. */
interface References {
  readonly scopes?: readonly string[];
  readonly audiences?: readonly string[];
  readonly roles?: readonly string[];
}

/**
 * Up to twenty users, applications and resources of the tenant that refer to one of these, each as a kind and a name.
 */
export async function usersOf(
  tx: Queryable,
  tenantId: string,
  { scopes = [], audiences = [], roles = [] }: References,
): Promise<string[]> {
  const { rows } = await tx.query<{ name: string }>({
    name: 'directory.users_of_records',
    text: `SELECT 'application ' || client_id AS name FROM directory.application
            WHERE tenant_id = $1 AND (scopes && $2::text[] OR introspect_audiences && $3::text[] OR allowed_roles && $4::text[]
                                         OR roles && $4::text[])
            UNION ALL
           SELECT 'resource ' || audience FROM directory.api_resource WHERE tenant_id = $1 AND roles && $4::text[]
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

/** Applications whose tokens have one of these entries as an audience without any of these scopes. */
export async function havingAudience(
  tx: Queryable,
  {
    tenantId,
    entries,
    besides,
  }: { readonly tenantId: string; readonly entries: readonly string[]; readonly besides: readonly string[] },
): Promise<{ clientId: string; owner: string }[]> {
  const { rows } = await tx.query<{ clientId: string; owner: string }>({
    name: 'directory.applications_having_audience',
    text: `SELECT client_id AS "clientId", owner FROM directory.application
            WHERE tenant_id = $1 AND audiences && $2::text[] AND NOT scopes && $3::text[]`,
    values: [tenantId, entries, besides],
  });
  return rows;
}
