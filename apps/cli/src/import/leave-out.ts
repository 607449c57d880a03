import { listedKinds, recordKinds } from '@tessera/directory';
import { isBuiltIn } from '@tessera/oauth';
import type { Entry, ImportedRecords } from './files/imported.ts';

/** A mistake in the declared state: `key` such as `tenants[0].users[1].email`, empty for the document as a whole. */
interface Mistake {
  readonly key: string;
  readonly message: string;
}

/** By the name of their list. */
const kinds = new Map<string, (typeof listedKinds)[number]>(
  listedKinds.map((kind) => [recordKinds[kind].list, kind]),
);

/** Without these there is no record. */
const required = new Set([
  'audience',
  'clientId',
  'grantTypes',
  'name of application',
  'name of resource',
  'secrets',
  'type',
  'username',
]);
/** What restricts a record: it has no access that it did not have where it comes from, so the record goes. */
const restricting = new Set([
  'allowedRoles',
  'authenticatedStart',
  'authenticationPolicy',
  'owners',
  'pkce',
  'status',
  'thirdParty',
]);
/** Of these a part can be left out. */
const divisible = new Set([
  'address',
  'attributes',
  'claims',
  'grantTypes',
  'logoutRedirectUris',
  'redirectUris',
  'roles',
  'scopes',
]);
/** What has no meaning without another key. */
const companions: Readonly<Record<string, string>> = {
  email: 'emailVerified',
  phoneNumber: 'phoneNumberVerified',
};

const gone = Symbol('gone');

/**
 * Removes what the rules of the declared state refuse: a key or a part of it if the record can do without, else the
 * record. Returns a line for each thing, without its value; undefined if a mistake is in nothing that can be left out.
 */
export function leaveOut(records: ImportedRecords, mistakes: readonly Mistake[]): string[] | undefined {
  const lines = new Set<string>();
  const lists = new Map<string, unknown[]>(Object.entries(records));
  for (const { key, message } of mistakes) {
    const [, list = '', index = '', path = ''] = /^tenants\[0\]\.([a-z]+)\[(\d+)\]\.?(.*)$/.exec(key) ?? [];
    const [kind, entries = []] = [kinds.get(list), lists.get(list)];
    const entry = entries[Number(index)];
    if (kind === undefined || entry === undefined) return undefined;
    if (entry === gone) continue;
    const record = `${kind} ${nameOf(entry, recordKinds[kind].name, Number(index))}`;
    if (isEntry(entry) && removed(entry, path, kind)) lines.add(`${path} of ${record}: ${message}`);
    else {
      entries[Number(index)] = gone;
      lines.add(`${record}: ${path === '' ? '' : `${path} `}${message}`);
    }
  }
  for (const list of Object.values(records) as unknown[][]) {
    compact(list);
    list.forEach((entry) => isEntry(entry) && Object.values(entry).forEach(compact));
  }
  return [...lines];
}

/** Removes the key of a path, or the part of its value; false if the record cannot do without. */
function removed(node: Entry, path: string, kind: string): boolean {
  // Names of attributes may have dots themselves.
  const [key] = Object.keys(node)
    .filter((name) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`))
    .toSorted((left, right) => right.length - left.length);
  if (key === undefined) return false;
  const rest = path.slice(key.length).replace(/^\./, '');
  const value = node[key];
  if (divisible.has(key) && rest !== '') {
    const [, index] = /^\[(\d+)\]/.exec(rest) ?? [];
    if (isEntry(value)) return removed(value, rest, kind);
    if (Array.isArray(value) && index !== undefined) {
      value[Number(index)] = gone;
      return true;
    }
  }
  if (required.has(key) || required.has(`${key} of ${kind}`) || restricting.has(key)) return false;
  Reflect.deleteProperty(node, key);
  Reflect.deleteProperty(node, companions[key] ?? '');
  return true;
}

function compact(value: unknown): void {
  if (!Array.isArray(value)) return;
  const kept = value.filter((each) => each !== gone) as unknown[];
  value.splice(0, value.length, ...kept);
}

function nameOf(entry: unknown, key: string, index: number): string {
  const name = isEntry(entry) ? entry[key] : entry;
  return typeof name === 'string' && name !== '' ? name : `number ${index + 1}`;
}

function isEntry(value: unknown): value is Entry {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Leaves out what two people would share: the e-mail address or phone number of the later one, and a person whose user
 * name is taken. Returns a line for each.
 */
export function leaveOutShared({ users }: Pick<ImportedRecords, 'users'>): string[] {
  const lines: string[] = [];
  const taken = new Set<string>();
  const isTaken = (value: unknown): boolean => typeof value === 'string' && taken.has(value.toLowerCase());
  const kept = users.filter((user) => {
    const name = String(user['username']);
    if (isTaken(user['username'])) {
      lines.push(`user ${name}: the user name is taken by another person`);
      return false;
    }
    for (const [key, verified] of Object.entries(companions)) {
      if (!isTaken(user[key])) continue;
      lines.push(`${key} of user ${name}: is taken by another person`);
      Reflect.deleteProperty(user, key);
      Reflect.deleteProperty(user, verified);
    }
    for (const key of ['username', ...Object.keys(companions)]) {
      const value = user[key];
      if (typeof value === 'string') taken.add(value.toLowerCase());
    }
    return true;
  });
  users.splice(0, users.length, ...kept);
  return lines;
}

/**
 * Leaves out what is named like a built-in role, scope or API: it meant something else where it comes from. Returns a
 * line for each.
 * @param isAllowed whether people and applications get the built-in ones by these names
 */
export function leaveOutBuiltIn(
  { resources, roles, users, applications }: ImportedRecords,
  isAllowed: boolean,
): string[] {
  // No tenant declares one, so that holders keep the built-in one.
  const declared = takenOut(roles, isBuiltIn.role);
  if (isAllowed) return [];
  const lines: string[] = [];
  const holders = new Map(declared.map((role) => [role, 0]));
  for (const user of users)
    for (const role of takenOut(user['roles'], isBuiltIn.role))
      holders.set(role, (holders.get(role) ?? 0) + 1);
  for (const [role, count] of holders)
    lines.push(`role ${role}: is built in; ${count} ${count === 1 ? 'person does' : 'people do'} not get it`);
  for (const audience of takenOut(resources, isBuiltIn.audience, 'audience'))
    lines.push(`resource ${audience}: is built in`);
  for (const { audience, scopes } of resources)
    for (const scope of takenOut(scopes, isBuiltIn.scope, 'name'))
      lines.push(`scope ${scope} of resource ${String(audience)}: is built in`);
  for (const { clientId, scopes } of applications)
    for (const scope of takenOut(scopes, isBuiltIn.scope))
      lines.push(`scope ${scope} of application ${String(clientId)}: is built in`);
  return lines;
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
  list.splice(0, list.length, ...(kept as unknown[]));
  return out;
}
