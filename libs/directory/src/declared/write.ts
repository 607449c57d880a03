import { stringify } from 'yaml';
import { applicationFields } from '../applications/fields.ts';
import { entryOf } from '../fields/field.ts';
import { providerFields } from '../providers/fields.ts';
import { resourceFields } from '../resources/fields.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import { tenantFields } from '../tenants/fields.ts';
import { userFields } from '../users/fields.ts';

/**
 * A tenant as an entry of `tenants` of the declared state, in YAML, without secrets, passwords and their hashes. Defaults
 * are omitted, so `status` appears only if it is not `active`. Lists are sorted if their order has no meaning.
 */
export function writeTenant({
  tenant,
  resources,
  roles,
  providers,
  users,
  applications,
}: TenantState): string {
  const lists = {
    resources: sortedBy(resources, ({ audience }) => audience).map((one) => entryOf(resourceFields, one)),
    roles: sortedBy(roles, ({ name }) => name).map(({ name }) => name),
    providers: sortedBy(providers, ({ name }) => name).map((one) => entryOf(providerFields, one)),
    users: sortedBy(users, ({ username }) => username).map((one) => ({
      ...entryOf(userFields, one),
      ...one.standardClaims,
    })),
    applications: sortedBy(applications, ({ clientId }) => clientId).map((one) =>
      entryOf(applicationFields, one),
    ),
  };
  const given = Object.entries(lists).filter(([, list]) => list.length > 0);
  const entry = { id: tenant.tenantId, ...entryOf(tenantFields, tenant), ...Object.fromEntries(given) };
  return stringify([entry], { lineWidth: 0, aliasDuplicateObjects: false });
}

function sortedBy<T>(list: readonly T[], keyOf: (item: T) => string): T[] {
  return list.toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
}
