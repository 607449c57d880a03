import { isBuiltIn } from '@tessera/oauth';
import { ownClients, type Group, type Realm, type Report, type Role } from './realm.ts';

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
  /** All roles that someone has: their own, those of their groups, and what these are composed of. */
  of(holder: Holder): string[];
}

/** Reads the roles. Reports groups and composite roles, whose roles their people have one by one. */
export function rolesOf({ realm, roles, groups, defaultRole }: Realm, report: Report): Roles {
  const own = new Set([
    'offline_access',
    'uma_authorization',
    defaultRole?.name ?? `default-roles-${realm.toLowerCase()}`,
  ]);
  const composites = new Map<string, readonly string[]>();
  const names: string[] = [];
  const add = (name: string, isOwn: boolean, { composites: parts }: Role): void => {
    const composed =
      parts === undefined ? [] : namesOf({ realmRoles: parts.realm, clientRoles: parts.client });
    composites.set(name, composed);
    if (isOwn) return;
    names.push(name);
    // Whether people get a built-in one has a line of its own.
    const given = composed.filter((part) => !isBuiltIn.role(part));
    if (given.length > 0)
      report(`composition of role ${name}: people who have it get ${given.join(', ')} one by one`);
  };
  for (const role of roles.realm) add(role.name, own.has(role.name), role);
  for (const [client, list] of Object.entries(roles.client))
    for (const role of list) add(nameOf(client, role.name), ownClients.has(client), role);
  const known = new Set(names);
  const ofGroups = new Map(groups.flatMap((group) => rolesOfGroups(group, '', [])));
  for (const path of ofGroups.keys())
    report(`group ${path}: has no counterpart; its members get its roles one by one`);
  return {
    names,
    of({ realmRoles, clientRoles, applicationRoles = {}, groups: paths = [] }) {
      const held = new Set([
        ...namesOf({ realmRoles, clientRoles }),
        ...namesOf({ realmRoles: [], clientRoles: applicationRoles }),
        ...paths.flatMap((path) => ofGroups.get(path) ?? []),
      ]);
      // A set is iterated over what is added meanwhile.
      for (const name of held) for (const part of composites.get(name) ?? []) held.add(part);
      return names.filter((name) => held.has(name) && known.has(name));
    },
  };
}

/** By path, also those of the groups above. */
function rolesOfGroups(group: Group, above: string, inherited: readonly string[]): [string, string[]][] {
  const path = `${above}/${group.name}`;
  const names = [...inherited, ...namesOf(group)];
  return [[path, names], ...group.subGroups.flatMap((each) => rolesOfGroups(each, path, names))];
}

function namesOf({ realmRoles, clientRoles }: Pick<Holder, 'realmRoles' | 'clientRoles'>): string[] {
  const ofClients = Object.entries(clientRoles).flatMap(([client, list]) =>
    list.map((role) => nameOf(client, role)),
  );
  return [...realmRoles, ...ofClients];
}

function nameOf(client: string, role: string): string {
  return `${client}:${role}`;
}
