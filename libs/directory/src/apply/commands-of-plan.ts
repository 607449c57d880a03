import {
  deleteApplications,
  putApplications,
  restoreApplications,
} from '../applications/commands.postgres.ts';
import { deleteProviders, putProviders } from '../providers/commands.postgres.ts';
import { deleteResources, putResources } from '../resources/commands.postgres.ts';
import { deleteRoles, putRoles } from '../roles/commands.postgres.ts';
import type { Command } from '../store/command.ts';
import { deleteTenant, putTenant } from '../tenants/commands.postgres.ts';
import { deleteUsers, putUsers, restoreUsers } from '../users/commands.postgres.ts';
import { putOf, type TenantPlan } from './plan.ts';

/**
 * The commands that carry out a plan. The order keeps every foreign key: referrers are deleted before and created after what they
 * refer to; a unique value is freed before it is used again.
 */
export function commandsOf({
  desired,
  tenant,
  resources,
  roles,
  providers,
  users,
  applications,
  restores,
}: TenantPlan): Command[] {
  const ifAny = <T>(command: (records: readonly T[]) => Command, records: readonly T[]) =>
    records.length === 0 ? [] : [command(records)];
  return [
    ...(tenant === 'created' || tenant === 'updated' ? [putTenant(desired.tenant)] : []),
    ...ifAny(putRoles, putOf(roles)),
    ...ifAny(
      deleteProviders,
      providers.deleted.map(({ name }) => name),
    ),
    ...ifAny(putProviders, putOf(providers)),
    ...ifAny(putResources, putOf(resources)),
    ...ifAny(
      deleteResources,
      resources.deleted.map(({ audience }) => audience),
    ),
    ...ifAny(deleteApplications, applications.deleted),
    ...ifAny(putApplications, putOf(applications)),
    ...ifAny(restoreApplications, restores ? applications.created : []),
    ...ifAny(deleteUsers, users.deleted),
    ...ifAny(putUsers, putOf(users)),
    ...ifAny(restoreUsers, restores ? users.created : []),
    ...ifAny(
      deleteRoles,
      roles.deleted.map(({ name }) => name),
    ),
    ...(tenant === 'deleted' ? [deleteTenant()] : []),
  ];
}
