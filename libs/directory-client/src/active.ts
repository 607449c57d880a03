import { Status, type Application, type Tenant, type User } from '@tessera/proto-gen/directory';
import type { ApplicationRecord } from './types.ts';

/** Whether an application and its tenant, or a user, or a tenant, are active: neither disabled nor locked. */
export function isActive(record: ApplicationRecord | Application | Tenant | User): boolean {
  if ('application' in record) return isActive(record.application) && isActive(record.tenant);
  return record.status === Status.ACTIVE;
}
