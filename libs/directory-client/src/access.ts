import { Status, type Application, type Tenant, type User } from '@tessera/proto-gen/directory';
import type { ApplicationRecord } from './types.ts';

/**
 * Whether an application and its tenant, or a user, or a tenant, are active: neither disabled nor locked. With
 * `signedInAt` (seconds since the Unix epoch) also whether they have been so since that sign-in, under the same password:
 * what was taken back since does not bring back what it ended.
 */
export function isActive(
  record: ApplicationRecord | Application | Tenant | User,
  signedInAt = Number.POSITIVE_INFINITY,
): boolean {
  if ('application' in record) return isActive(record.application, signedInAt) && isActive(record.tenant);
  const validFrom = 'validFrom' in record ? Number(record.validFrom) : 0;
  return record.status === Status.ACTIVE && validFrom <= signedInAt;
}
