import type { Queryable } from '@tessera/stores';
import { readApplications } from '../applications/read.postgres.ts';
import type { ResourceRecord, TenantState, UserRecord } from './records.ts';
import { tenantColumns, tenantOf, userColumns, userOf, type TenantRow, type UserRow } from './rows.ts';

/** Everything of a tenant, as it stands inside the transaction; undefined when there is no such tenant. */
export async function readTenantState(tx: Queryable, tenantId: string): Promise<TenantState | undefined> {
  const { rows } = await tx.query<TenantRow>({
    name: 'directory.read_tenant',
    text: `SELECT ${tenantColumns} FROM directory.tenant t WHERE t.tenant_id = $1`,
    values: [tenantId],
  });
  const [row] = rows;
  if (row === undefined) return undefined;
  return {
    tenant: tenantOf(row),
    resources: await readResources(tx, tenantId),
    roles: await readRoles(tx, tenantId),
    users: await readUsers(tx, tenantId),
    applications: await readApplications(tx, tenantId),
  };
}

async function readResources(tx: Queryable, tenantId: string): Promise<ResourceRecord[]> {
  const { rows } = await tx.query<ResourceRecord>({
    name: 'directory.read_resources',
    text: `SELECT r.audience, r.name, r.shared, r.token_type AS "tokenType", r.scope_format AS "scopeFormat",
                  (SELECT coalesce(jsonb_agg(jsonb_build_object('name', s.name, 'description', s.description)
                                   ORDER BY s.position), '[]')
                     FROM directory.scope s
                    WHERE s.tenant_id = r.tenant_id AND s.audience = r.audience) AS scopes
             FROM directory.api_resource r WHERE r.tenant_id = $1`,
    values: [tenantId],
  });
  return rows.map(({ audience, name, shared, tokenType, scopeFormat, scopes }) => ({
    audience,
    name,
    shared,
    tokenType,
    scopeFormat,
    scopes,
  }));
}

async function readRoles(tx: Queryable, tenantId: string): Promise<string[]> {
  const { rows } = await tx.query<{ name: string }>({
    name: 'directory.read_roles',
    text: 'SELECT name FROM directory.role WHERE tenant_id = $1',
    values: [tenantId],
  });
  return rows.map((row) => row.name);
}

async function readUsers(tx: Queryable, tenantId: string): Promise<UserRecord[]> {
  const { rows } = await tx.query<UserRow>({
    name: 'directory.read_users',
    text: `SELECT ${userColumns} FROM directory.user_account u WHERE u.tenant_id = $1`,
    values: [tenantId],
  });
  return rows.map(userOf);
}
