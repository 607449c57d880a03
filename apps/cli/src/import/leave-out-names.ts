import { adminRoles, isBuiltIn } from '@tessera/oauth';
import { isEntry, type Entry, type ImportedRecords } from './files/imported.ts';
import { refill } from './parts.ts';

/** What is left out of people part by part, and counted over all parts. */
export interface LeavingOut {
  of(users: readonly Entry[]): void;
  /** For each thing, however many people have it. */
  lines(): string[];
}

/**
 * Leaves out what is named like a built-in role, scope or API, of the records at once: it meant something else where it
 * comes from.
 * @param isAllowed whether people and applications get the built-in ones by these names
 */
export function leavingOutBuiltIn(
  { resources, roles, applications }: Omit<ImportedRecords, 'users'>,
  isAllowed: boolean,
): LeavingOut {
  // No tenant declares one, so that holders keep the built-in one.
  const declared = takenOut(roles, isBuiltIn.role);
  if (isAllowed) return { of: () => undefined, lines: () => [] };
  const holders = new Map(declared.map((role) => [role, 0]));
  const lines: string[] = [];
  for (const audience of takenOut(resources, isBuiltIn.audience, 'audience'))
    lines.push(`resource ${audience}: is built in`);
  for (const { audience, scopes } of resources)
    for (const scope of takenOut(scopes, isBuiltIn.scope, 'name'))
      lines.push(`scope ${scope} of resource ${String(audience)}: is built in`);
  for (const { clientId, scopes } of applications)
    for (const scope of takenOut(scopes, isBuiltIn.scope))
      lines.push(`scope ${scope} of application ${String(clientId)}: is built in`);
  return {
    of(users) {
      for (const user of users)
        for (const role of takenOut(user['roles'], isBuiltIn.role))
          holders.set(role, (holders.get(role) ?? 0) + 1);
    },
    lines: () => [
      ...[...holders].map(
        ([role, count]) =>
          `role ${role}: is built in; ${count} ${count === 1 ? 'person does' : 'people do'} not get it`,
      ),
      ...lines,
    ],
  };
}

/**
 * Leaves out roles that the tenant does not have.
 * @param roles those that it has, or gets
 */
export function leavingOutUnknownRoles(roles: Iterable<string>): LeavingOut {
  const known = new Set([...roles, ...adminRoles.keys()]);
  const unknown = new Map<string, number>();
  return {
    of(users) {
      for (const user of users)
        for (const role of takenOut(user['roles'], (name) => !known.has(name)))
          unknown.set(role, (unknown.get(role) ?? 0) + 1);
    },
    lines: () =>
      [...unknown].map(([role, count]) => `role ${role} of ${count} people: is not a role of the tenant`),
  };
}

/** Leaves out the identifiers that people are given: the tenant has no issuer of its own, where they are unique. */
export function leavingOutUserIds(): LeavingOut {
  let count = 0;
  return {
    of(users) {
      for (const user of users)
        if (Reflect.has(user, 'userId')) count += Reflect.deleteProperty(user, 'userId') ? 1 : 0;
    },
    lines: () =>
      count === 0
        ? []
        : [`sub of ${count} people: they get a new one, as the tenant has no issuer of its own`],
  };
}

/**
 * Leaves out passkeys of another host than that of the tenant's issuer, where no page could use them. Those without one
 * are of the realm's, which that is.
 * @param host undefined where the tenant has no issuer of its own
 */
export function leavingOutPasskeys(host: string | undefined): LeavingOut {
  let count = 0;
  return {
    of(users) {
      for (const user of users) {
        const { passkeys } = user;
        // An empty list takes passkeys away.
        if (!Array.isArray(passkeys) || passkeys.length === 0) continue;
        const kept = passkeys
          .filter(isEntry)
          .map((passkey): Entry => ({ rpId: host, ...passkey }))
          .filter(({ rpId }) => host !== undefined && rpId === host);
        count += passkeys.length - kept.length;
        if (kept.length > 0) user['passkeys'] = kept;
        else Reflect.deleteProperty(user, 'passkeys');
      }
    },
    lines: () =>
      count === 0
        ? []
        : [
            host === undefined
              ? `${count} passkeys: need a tenant with an issuer of its own`
              : `${count} passkeys: are of another host than ${host}`,
          ],
  };
}

/**
 * Removes from a list what has such a name, and returns the names. `key` has the name of an entry that is none itself.
 */
function takenOut(list: unknown, isTaken: (name: string) => boolean, key = ''): string[] {
  if (!Array.isArray(list)) return [];
  const out: string[] = [];
  const kept = list.filter((entry: unknown) => {
    const name = isEntry(entry) ? entry[key] : entry;
    if (typeof name !== 'string' || !isTaken(name)) return true;
    out.push(name);
    return false;
  });
  refill(list as unknown[], kept as unknown[]);
  return out;
}
