import { isBuiltIn } from '@tessera/oauth';
import { ownClients, type Report } from './realm.ts';
import type { Group, Realm, Role } from './representation.ts';

interface Holder {
  readonly realmRoles: readonly string[];
  readonly clientRoles: Readonly<Record<string, readonly string[]>>;
  readonly applicationRoles?: Readonly<Record<string, readonly string[]>>;
  readonly groups?: readonly string[];
}

/** The roles of a realm, without those that Keycloak has for itself. */
export interface Roles {
  /** A role of a client is `<client>:<role>`. */
  readonly names: readonly string[];
  /** The clients that have any of these. */
  readonly clients: ReadonlySet<string>;
  /** Whether a name that begins with that of this client and a colon may be that of a role of another. */
  areMixed(client: string): boolean;
  /** All roles that someone has: their own, those of their groups, and what these are composed of. */
  of(holder: Holder): string[];
}

/** Of a client; of the realm without one. */
interface NamedRole {
  /** Tells roles apart whose names here would be one. */
  readonly key: string;
  readonly name: string;
  readonly client: string | undefined;
  readonly isOwn: boolean;
  readonly composites: Role['composites'];
}

/**
 * Reads the roles. Reports groups and composite roles, whose roles their people have one by one, and roles that would
 * have the name of another, which nobody has.
 */
export function rolesOf(realm: Realm, report: Report): Roles {
  const roles = namedRoles(realm);
  const kept = keptOf(roles, report);
  const composites = compositesOf(roles, kept, report);
  const ofGroups = new Map(realm.groups.flatMap((group) => rolesOfGroups(group, '', [])));
  for (const path of ofGroups.keys())
    report(`group ${path}: has no counterpart; its members get its roles one by one`);
  const mixed = mixedOf(kept);
  return {
    names: [...kept.values()].map(({ name }) => name),
    clients: new Set([...kept.values()].flatMap(({ client }) => client ?? [])),
    areMixed: (client) => mixed.has(client),
    of({ realmRoles, clientRoles, applicationRoles = {}, groups: paths = [] }) {
      const held = new Set([
        ...keysOf({ realmRoles, clientRoles }),
        ...keysOf({ realmRoles: [], clientRoles: applicationRoles }),
        ...paths.flatMap((path) => ofGroups.get(path) ?? []),
      ]);
      // A set is iterated over what is added meanwhile.
      for (const key of held) for (const part of composites.get(key) ?? []) held.add(part);
      return [...kept].flatMap(([key, { name }]) => (held.has(key) ? [name] : []));
    },
  };
}

function namedRoles({ realm, roles, defaultRole }: Realm): NamedRole[] {
  const own = new Set([
    'offline_access',
    'uma_authorization',
    defaultRole?.name ?? `default-roles-${realm.toLowerCase()}`,
  ]);
  const ofRealm = roles.realm.map(({ name, composites }) => ({
    key: keyOf(name),
    name,
    client: undefined,
    isOwn: own.has(name),
    composites,
  }));
  const ofClients = Object.entries(roles.client).flatMap(([client, list]) =>
    list.map(({ name, composites }) => ({
      key: keyOf(name, client),
      name: `${client}:${name}`,
      client,
      isOwn: ownClients.has(client),
      composites,
    })),
  );
  return [...ofRealm, ...ofClients];
}

/** By key, in their order: the first of each name. */
function keptOf(roles: readonly NamedRole[], report: Report): ReadonlyMap<string, NamedRole> {
  const kept = new Map<string, NamedRole>();
  const taken = new Set<string>();
  for (const role of roles) {
    const { key, name, client, isOwn } = role;
    if (isOwn) continue;
    if (taken.has(name)) {
      const of = client === undefined ? 'the realm' : `client ${client}`;
      report(`role ${name} of ${of}: two roles would have this name; nobody has this one`);
      continue;
    }
    taken.add(name);
    kept.set(key, role);
  }
  return kept;
}

/** The keys of the parts of each role that is kept, or is Keycloak's own. */
function compositesOf(
  roles: readonly NamedRole[],
  kept: ReadonlyMap<string, NamedRole>,
  report: Report,
): ReadonlyMap<string, readonly string[]> {
  const composites = new Map<string, readonly string[]>();
  for (const role of roles) {
    const { key, name, isOwn, composites: parts } = role;
    if (parts === undefined || (!isOwn && kept.get(key) !== role)) continue;
    const keys = keysOf({ realmRoles: parts.realm, clientRoles: parts.client });
    composites.set(key, keys);
    if (isOwn) continue;
    // Whether people get a built-in one has a line of its own.
    const given = keys.flatMap((part) => kept.get(part)?.name ?? []).filter((part) => !isBuiltIn.role(part));
    if (given.length > 0)
      report(`composition of role ${name}: people who have it get ${given.join(', ')} one by one`);
  }
  return composites;
}

/** What stands before a colon in the name of a role, other than its client. */
function mixedOf(kept: ReadonlyMap<string, NamedRole>): ReadonlySet<string> {
  const mixed = new Set<string>();
  for (const { name, client } of kept.values())
    for (let at = name.indexOf(':'); at !== -1; at = name.indexOf(':', at + 1))
      if (name.slice(0, at) !== client) mixed.add(name.slice(0, at));
  return mixed;
}

/** By path, also those of the groups above. */
function rolesOfGroups(group: Group, above: string, inherited: readonly string[]): [string, string[]][] {
  const path = `${above}/${group.name}`;
  const keys = [...inherited, ...keysOf(group)];
  return [[path, keys], ...group.subGroups.flatMap((each) => rolesOfGroups(each, path, keys))];
}

function keysOf({ realmRoles, clientRoles }: Pick<Holder, 'realmRoles' | 'clientRoles'>): string[] {
  const ofClients = Object.entries(clientRoles).flatMap(([client, list]) =>
    list.map((role) => keyOf(role, client)),
  );
  return [...realmRoles.map((role) => keyOf(role)), ...ofClients];
}

function keyOf(role: string, client?: string): string {
  return JSON.stringify([role, client]);
}
