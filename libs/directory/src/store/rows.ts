import type { Attributes } from '../users/attributes.ts';
import type { StandardClaims } from '../users/standard-claims.ts';
import type { Status, TenantRecord, UserRecord, UserStatus } from './records.ts';

export interface TenantRow {
  readonly tenant_id: string;
  readonly tenant_name: string;
  readonly tenant_status: Status;
  readonly tenant_issuer: string;
}

export const tenantColumns =
  't.tenant_id, t.name AS tenant_name, t.status AS tenant_status, t.issuer AS tenant_issuer';

export function tenantOf(row: TenantRow): TenantRecord {
  const { tenant_id: tenantId, tenant_name: name, tenant_status: status, tenant_issuer: issuer } = row;
  return { tenantId, name, status, issuer };
}

export interface UserRow {
  readonly user_id: string;
  readonly username: string;
  readonly email: string;
  readonly name: string;
  readonly phone_number: string;
  readonly standard_claims: StandardClaims;
  readonly attributes: Attributes;
  readonly status: UserStatus;
  readonly password_hash: string | null;
  readonly roles: readonly string[];
}

export const userColumns = `u.user_id, u.username, u.email, u.name, u.phone_number, u.standard_claims, u.attributes, u.status,
  u.password_hash,   ARRAY(SELECT r.role FROM directory.user_role r
         WHERE r.tenant_id = u.tenant_id AND r.user_id = u.user_id ORDER BY r.position) AS roles`;

export function userOf(row: UserRow): UserRecord {
  return {
    userId: row.user_id,
    username: row.username,
    email: row.email,
    name: row.name,
    phoneNumber: row.phone_number,
    standardClaims: row.standard_claims,
    attributes: row.attributes,
    roles: row.roles,
    status: row.status,
    passwordHash: row.password_hash ?? undefined,
  };
}
