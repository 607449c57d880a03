import { Status, type Application, type Tenant, type User } from '@tessera/proto-gen/directory';
import type { ApplicationRecord, RequestedIssuer } from './directory-client-types.ts';

/**
 * Whether an application and its tenant, a user, or a tenant are active: neither disabled nor locked. With `signedInAt`
 * (seconds since the Unix epoch), also whether that sign-in is still valid: disabling a record and enabling it again,
 * or changing a password, invalidates earlier sign-ins.
 */
export function isActive(
  record: ApplicationRecord | Application | Tenant | User,
  signedInAt = Number.POSITIVE_INFINITY,
): boolean {
  if ('application' in record) return isActive(record.application, signedInAt) && isActive(record.tenant);
  const validFrom = 'validFrom' in record ? Number(record.validFrom) : 0;
  return record.status === Status.ACTIVE && validFrom <= signedInAt;
}

/** Whether a tenant is served at the issuer: a tenant that has an issuer of its own is served only there. */
export function isServedAt({ issuer }: Pick<Tenant, 'issuer'>, requested: RequestedIssuer): boolean {
  return requested.tenantId === '' ? issuer === '' : issuer === requested.issuer;
}

/**
 * The access policy of an application: whether a person of its tenant has one of its allowed roles, or it allows
 * everyone. Check it wherever the application is about to get something for a person (CVE-2024-38371). It does not
 * check `isActive`.
 */
export function mayUse(
  { allowedRoles }: Pick<Application, 'allowedRoles'>,
  { roles }: Pick<User, 'roles'>,
): boolean {
  return allowedRoles.length === 0 || allowedRoles.some((role) => roles.includes(role));
}
