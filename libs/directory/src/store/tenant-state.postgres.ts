import type { Queryable } from '@tessera/stores';
import type { ApplicationRecord, ResourceRecord, TenantState, UserRecord } from './records.ts';
import {
  applicationColumns,
  applicationOf,
  tenantColumns,
  tenantOf,
  userColumns,
  userOf,
  type ApplicationRow,
  type TenantRow,
  type UserRow,
} from './rows.ts';

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

async function readApplications(tx: Queryable, tenantId: string): Promise<ApplicationRecord[]> {
  const { rows } = await tx.query<ApplicationRow & { scopes: string[]; secrets: [string, string | null][] }>({
    name: 'directory.read_applications',
    text: `SELECT ${applicationColumns}, a.scopes,
                  (SELECT coalesce(jsonb_agg(jsonb_build_array(s.digest,
                            (extract(epoch FROM s.expires_at) * 1000)::bigint::text)
                            ORDER BY s.created_at, s.digest), '[]')
                     FROM directory.application_secret s
                    WHERE s.tenant_id = a.tenant_id AND s.client_id = a.client_id) AS secrets
             FROM directory.application a WHERE a.tenant_id = $1`,
    values: [tenantId],
  });
  return rows.map((row) => ({
    ...applicationOf(row),
    scopes: row.scopes,
    secrets: row.secrets.map(([digest, expiresAt]) => ({
      digest,
      expiresAt: expiresAt === null ? undefined : Number(expiresAt),
    })),
  }));
}
