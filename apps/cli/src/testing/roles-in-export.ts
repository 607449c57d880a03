import { list, node, text, texts, type Node } from './values-in-export.ts';

/** The roles of an export. A role is its text `["<role>"]`, or `["<role>","<client>"]` for one of a client. */
export interface RolesInExport {
  /** All that a holder has: its own, those of its groups, those above these, and what they are composed of. */
  held(holder: Node): readonly string[];
  /** The role that a name stands for after an import: the first that has it. */
  meant(name: string): string;
}

export function rolesInExport(realm: Node): RolesInExport {
  const roles = node(realm['roles']);
  const parts = new Map<string, readonly string[]>();
  const names = new Map<string, string>();
  const add = (role: Node, client?: string): void => {
    const name = text(role['name']);
    const key = keyOf(name, client);
    const called = client === undefined ? name : `${client}:${name}`;
    if (!names.has(called)) names.set(called, key);
    const { realm: ofRealm, client: ofClients } = node(role['composites']);
    parts.set(key, keysOf({ realmRoles: ofRealm, clientRoles: ofClients }));
  };
  for (const role of list(roles['realm'])) add(role);
  for (const [client, of] of Object.entries(node(roles['client'])))
    for (const role of list(of)) add(role, client);
  const groups = groupsIn(list(realm['groups']), '', []);
  return {
    held(holder) {
      const ofGroups = texts(holder['groups']).flatMap((path) => groups.get(path) ?? []);
      const held = new Set([...keysOf(holder), ...ofGroups]);
      // What is added is walked, too.
      for (const key of held) for (const part of parts.get(key) ?? []) held.add(part);
      return [...held];
    },
    meant: (name) => names.get(name) ?? `none: ${name}`,
  };
}

/** The roles of each group by its path, with those of the groups above. */
function groupsIn(
  groups: readonly Node[],
  above: string,
  inherited: readonly string[],
): Map<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const group of groups) {
    const path = `${above}/${text(group['name'])}`;
    const keys = [...inherited, ...keysOf(group)];
    found.set(path, keys);
    for (const [below, of] of groupsIn(list(group['subGroups']), path, keys)) found.set(below, of);
  }
  return found;
}

function keysOf(holder: Node): string[] {
  const ofClients = [holder['clientRoles'], holder['applicationRoles']].flatMap((by) =>
    Object.entries(node(by)).flatMap(([client, roles]) => texts(roles).map((role) => keyOf(role, client))),
  );
  return [...texts(holder['realmRoles']).map((role) => keyOf(role)), ...ofClients];
}

function keyOf(role: string, client?: string): string {
  return JSON.stringify(client === undefined ? [role] : [role, client]);
}
