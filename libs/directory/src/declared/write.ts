import { stringify } from 'yaml';
import { applicationFields } from '../applications/fields.ts';
import { entryOf } from '../fields/field.ts';
import type { TenantState, UserRecord } from '../store/records.ts';

/**
 * A tenant as an entry of `tenants` of the declared state, in YAML, without secrets, passwords and their hashes. Defaults
 * are omitted, so `status` appears only if it is not `active`. Lists are sorted if their order has no meaning.
 */
export function writeTenant({ tenant, resources, roles, users, applications }: TenantState): string {
  const entry = given({
    id: tenant.tenantId,
    name: tenant.name,
    status: unlessActive(tenant.status),
    issuer: tenant.issuer,
    resources: sortedBy(resources, ({ audience }) => audience).map(
      ({ scopes, shared, tokenType, scopeFormat, ...resource }) =>
        given({
          ...resource,
          shared: shared || undefined,
          tokenType: tokenType === 'at+jwt' ? undefined : tokenType,
          scopeFormat: scopeFormat === 'array' ? undefined : scopeFormat,
          scopes: scopes.map((scope) => (scope.description === '' ? scope.name : scope)),
        }),
    ),
    roles: sortedBy(roles, (role) => role),
    users: sortedBy(users, ({ username }) => username).map(userEntry),
    applications: sortedBy(applications, ({ clientId }) => clientId).map((application) =>
      entryOf(applicationFields, application),
    ),
  });
  return stringify([entry], { lineWidth: 0, aliasDuplicateObjects: false });
}

function userEntry({ userId: _, passwordHash: __, status, standardClaims, ...user }: UserRecord): object {
  return given({ ...user, ...standardClaims, status: unlessActive(status) });
}

function unlessActive(status: string): string | undefined {
  return status === 'active' ? undefined : status;
}

/** Omits unset values: an empty text, list or set of keys, or 0. */
function given(entry: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entry).filter(([, value]) => !isUnset(value)));
}

function isUnset(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === undefined || value === '' || value === 0;
}

function sortedBy<T>(list: readonly T[], keyOf: (item: T) => string): T[] {
  return list.toSorted((left, right) => (keyOf(left) < keyOf(right) ? -1 : 1));
}
