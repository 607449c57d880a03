import { deletionEnds, endsBy } from '../endings/endings.ts';
import { apiOwner } from '../fields/owner.ts';
import type { ProviderRecord } from '../providers/fields.ts';
import type { UserRecord } from '../users/fields.ts';
import type { PresentState, TenantState } from './tenant-state.ts';

/** Names of what a provider decides about its people. */
interface Mapped {
  readonly roles: ReadonlySet<string>;
  readonly attributes: ReadonlySet<string>;
}

const nothing: Mapped = { roles: new Set(), attributes: new Set() };

/**
 * The people of a desired state without what only a mapping gave them that is no longer there: no sign-in would take it
 * away. Who is declared by a file has nothing of mappings. What another mapping gives stays until the next sign-in
 * decides. `taken`: who loses something.
 */
export function withoutLostMappings(
  current: PresentState,
  desired: TenantState,
): { readonly users: readonly UserRecord[]; readonly taken: ReadonlySet<string> } {
  const after = new Map(desired.providers.map((provider) => [provider.name, provider]));
  const changes = new Map(
    current.providers.map((before) => [
      before.name,
      { before: mappedBy(before), after: mappedAfter(before, after.get(before.name)) },
    ]),
  );
  const theirs = Map.groupBy(current.known, ({ userId }) => userId);
  const present = new Set<UserRecord>(current.users);
  const taken = new Set<string>();
  const users = desired.users.map((user) => {
    // A file that changes the person says what they have.
    if (user.owner !== apiOwner || !present.has(user)) return user;
    const of = (theirs.get(user.userId) ?? []).flatMap(({ provider }) => changes.get(provider) ?? []);
    const isLost = (kind: keyof Mapped, name: string): boolean =>
      of.some((change) => change.before[kind].has(name)) &&
      !of.some((change) => change.after[kind].has(name));
    const roles = user.roles.filter((role) => !isLost('roles', role));
    const attributes = Object.entries(user.attributes).filter(([name]) => !isLost('attributes', name));
    if (roles.length === user.roles.length && attributes.length === Object.keys(user.attributes).length)
      return user;
    taken.add(user.userId);
    return { ...user, roles, attributes: Object.fromEntries(attributes) };
  });
  return { users, taken };
}

function mappedAfter(before: ProviderRecord, after: ProviderRecord | undefined): Mapped {
  if (after === undefined) return deletionEnds('provider') ? nothing : mappedBy(before);
  if (endsBy('all', 'provider', before, after)) return nothing;
  return mappedBy(endsBy('taken', 'provider', before, after) ? after : before);
}

function mappedBy({ roleMappings, attributeMappings }: ProviderRecord): Mapped {
  return {
    roles: new Set(roleMappings.map(({ role }) => role)),
    attributes: new Set(Object.keys(attributeMappings)),
  };
}
