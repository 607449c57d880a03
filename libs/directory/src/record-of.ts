import type { ApplicationRecord } from './applications/fields.ts';
import type { Kind } from './fields/record-kinds.ts';
import type { ProviderRecord } from './providers/fields.ts';
import type { ResourceRecord } from './resources/fields.ts';
import type { RoleRecord } from './roles/fields.ts';
import type { TenantRecord } from './tenants/fields.ts';
import type { UserRecord } from './users/fields.ts';

/** The record of each kind. */
export interface RecordOf extends Record<Kind, { readonly owner: string }> {
  readonly tenant: TenantRecord;
  readonly resource: ResourceRecord;
  readonly role: RoleRecord;
  readonly provider: ProviderRecord;
  readonly user: UserRecord;
  readonly application: ApplicationRecord;
}
