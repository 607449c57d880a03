import { isGivenUserId } from '@tessera/oauth';
import { stringify } from 'yaml';
import { applicationFields } from '../applications/fields.ts';
import { entryOf } from '../fields/field.ts';
import { listedKinds, recordKinds, type Kind } from '../fields/record-kinds.ts';
import { providerFields } from '../providers/fields.ts';
import { resourceFields } from '../resources/fields.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import { tenantFields } from '../tenants/fields.ts';
import { userFields, type UserRecord } from '../users/fields.ts';

/** Which records are written. */
interface Written {
  /** Undefined: the records of all. */
  readonly owner: string | undefined;
  /** Empty: all. */
  readonly kinds: ReadonlySet<string>;
}

/**
 * A declared state of one tenant, in YAML, without secrets, passwords and their hashes. Defaults are omitted, so
 * `status` appears only if it is not `active`. Lists are sorted if their order has no meaning. Where its own fields are
 * not written, the entry refers to the tenant.
 */
export function writeDocument(
  { tenant, resources, roles, providers, users, applications }: TenantState,
  { owner, kinds }: Written,
): string {
  const isWritten = (record: { readonly owner: string }) => owner === undefined || record.owner === owner;
  const lists = {
    resources: sortedBy(resources.filter(isWritten), ({ audience }) => audience).map((one) =>
      entryOf(resourceFields, one),
    ),
    roles: sortedBy(roles.filter(isWritten), ({ name }) => name).map(({ name }) => name),
    providers: sortedBy(providers.filter(isWritten), ({ name }) => name).map((one) =>
      entryOf(providerFields, one),
    ),
    users: sortedBy(users.filter(isWritten), ({ username }) => username).map((one) => ({
      ...entryOfUser(one),
    })),
    applications: sortedBy(applications.filter(isWritten), ({ clientId }) => clientId).map((one) =>
      entryOf(applicationFields, one),
    ),
  };
  const isOf = (kind: Kind) => kinds.size === 0 || kinds.has(kind);
  const given = listedKinds
    .filter((kind) => isOf(kind))
    .map((kind): [string, readonly unknown[]] => [recordKinds[kind].list, lists[recordKinds[kind].list]])
    .filter(([, list]) => list.length > 0);
  const own = isOf('tenant') && isWritten(tenant) ? entryOf(tenantFields, tenant) : {};
  const entry = { id: tenant.tenantId, ...own, ...Object.fromEntries(given) };
  const written = stringify([entry], { lineWidth: 0, aliasDuplicateObjects: false });
  return `${owner === undefined ? '' : stringify({ owner })}tenants:\n${written}`;
}

/** Identifiers that were made here are those of new people elsewhere. */
function entryOfUser(user: UserRecord): Readonly<Record<string, unknown>> {
  const { username, ...fields } = entryOf(userFields, user);
  const { userId, standardClaims } = user;
  return { username, ...(isGivenUserId(userId) && { userId }), ...fields, ...standardClaims };
}

function sortedBy<T>(list: readonly T[], keyOf: (item: T) => string): T[] {
  return list.toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
}
