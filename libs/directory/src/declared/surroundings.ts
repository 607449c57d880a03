import { isBuiltInScope } from '../fields/field-checks.ts';
import type { ListedKind } from '../record-kinds.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import { identifiersOf, normalizeIdentifier } from '../users/identifiers.ts';
import { staysLeftOut, type Part } from './part.ts';
import type { DeclaredTenant } from './schema.ts';

/** What a tenant has besides what a file declares: the records of other owners, and those that stay. */
export interface Surroundings {
  /** Of the tenant, where the file only refers to it. */
  readonly endpoints: string;
  readonly resources: readonly {
    readonly audience: string;
    readonly scopes: readonly { readonly name: string }[];
    readonly tokenType: string;
    readonly roles: readonly string[];
  }[];
  readonly roles: readonly string[];
  readonly providers: readonly { readonly domains: readonly string[] }[];
  /** Of people, normalized. */
  readonly identifiers: readonly string[];
}

/** The records of a tenant that the file does not declare, and that others own or that stay. */
export function othersIn(
  state: TenantState | undefined,
  declared: DeclaredTenant,
  { owner, part }: { readonly owner: string; readonly part: Part },
): Surroundings {
  if (state === undefined) return assumedFor(declared);
  const kept = <T extends { readonly owner: string }>(
    kind: ListedKind,
    records: readonly T[],
    nameOf: (record: T) => string,
    names: readonly string[],
  ) => {
    const known = new Set(names);
    const stays = (record: T) => record.owner !== owner || staysLeftOut(part, kind, nameOf(record));
    return records.filter((record) => !known.has(nameOf(record)) && stays(record));
  };
  const audiences = declared.resources.map(({ audience }) => audience);
  const usernames = declared.users.map(({ username }) => normalizeIdentifier(username));
  const userIds = new Set(declared.users.flatMap(({ userId }) => userId ?? []));
  return {
    endpoints: state.tenant.endpoints,
    resources: kept('resource', state.resources, ({ audience }) => audience, audiences),
    roles: kept('role', state.roles, ({ name }) => name, declared.roles).map(({ name }) => name),
    providers: kept(
      'provider',
      state.providers,
      ({ name }) => name,
      declared.providers.map(({ name }) => name),
    ),
    identifiers: kept(
      'user',
      state.users.filter(({ userId }) => !userIds.has(userId)),
      ({ username }) => normalizeIdentifier(username),
      usernames,
    ).flatMap(identifiersOf),
  };
}

/** What a file declares of the desired state of its tenant, as far as others can clash with it. */
export function declaredIn<S extends Pick<TenantState, 'resources' | 'users' | 'applications'>>(
  desired: S,
  declared: DeclaredTenant,
): S {
  const audiences = new Set(declared.resources.map(({ audience }) => audience));
  const usernames = new Set(declared.users.map(({ username }) => normalizeIdentifier(username)));
  const clientIds = new Set(declared.applications.map(({ clientId }) => clientId));
  return {
    ...desired,
    resources: desired.resources.filter(({ audience }) => audiences.has(audience)),
    users: desired.users.filter(({ username }) => usernames.has(normalizeIdentifier(username))),
    applications: desired.applications.filter(({ clientId }) => clientIds.has(clientId)),
  };
}

// By whatever paths the endpoints of the tenant are found, the entries may be right.
const nothing: Surroundings = {
  endpoints: 'keycloak',
  resources: [],
  roles: [],
  providers: [],
  identifiers: [],
};

/** Without the tenant's records: an entry that only refers to its tenant is taken to refer to what there is. */
export function assumedFor(declared: DeclaredTenant): Surroundings {
  return declared.name === undefined ? allReferredTo(declared) : nothing;
}

/** As if there were everything that the entry refers to, and nothing else. */
export function allReferredTo(declared: DeclaredTenant): Surroundings {
  return { ...nothing, ...referredTo(declared) };
}

/** What the records of a tenant refer to and it does not declare. */
export function referredTo({
  resources,
  users,
  applications,
}: DeclaredTenant): Pick<Surroundings, 'resources' | 'roles'> {
  const own = new Set(resources.flatMap((resource) => resource.scopes.map(({ name }) => name)));
  const scopes = applications.flatMap((application) => application.scopes);
  const audiences = applications.flatMap(({ introspectAudiences }) => introspectAudiences);
  const others = scopes
    .filter((scope) => !isBuiltInScope(scope) && !own.has(scope))
    .map((scope) => ({ name: scope }));
  return {
    resources: [
      { audience: '', scopes: others, tokenType: '', roles: [] },
      ...audiences.map((audience) => ({ audience, scopes: [], tokenType: '', roles: [] })),
    ],
    roles: [
      ...users.flatMap(({ roles }) => roles),
      ...applications.flatMap((application) => [...application.allowedRoles, ...application.roles]),
      ...resources.flatMap((resource) => resource.roles),
    ],
  };
}
