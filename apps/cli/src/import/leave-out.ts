import { listedKinds, normalizeIdentifier, recordKinds } from '@tessera/directory';
import { isEntry, type Entry, type ImportedRecords } from './files/imported.ts';
import { refill } from './parts.ts';

/** A mistake in the declared state: `key` such as `tenants[0].users[1].email`, empty for the document as a whole. */
export interface Mistake {
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
  'clientSecret',
  'grantTypes',
  'issuer',
  'name of application',
  'name of provider',
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
  'roles of application',
  'roles of resource',
  'status',
  'thirdParty',
  'totp',
]);
/** Of these a part can be left out. */
const divisible = new Set([
  'address',
  'attributeMappings',
  'attributes',
  'audiences',
  'claims',
  'defaultScopes',
  'descriptions',
  'grantTypes',
  'idTokenClaims',
  'identities',
  'lifetimes',
  'logoutRedirectUriPrefixes',
  'logoutRedirectUris',
  'passkeys',
  'publicKeys',
  'redirectUriPrefixes',
  'redirectUris',
  'roleMappings',
  'roles',
  'scopes',
  'trusts',
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
 * @param before how many of each kind were read before these records
 */
export function leaveOut(
  records: ImportedRecords,
  mistakes: readonly Mistake[],
  before = 0,
): string[] | undefined {
  const lines = new Set<string>();
  const lists = new Map<string, unknown[]>(Object.entries(records));
  for (const { key, message } of mistakes) {
    const [, list = '', index = '', path = ''] = /^tenants\[0\]\.([a-z]+)\[(\d+)\]\.?(.*)$/s.exec(key) ?? [];
    const [kind, entries = []] = [kinds.get(list), lists.get(list)];
    const entry = entries[Number(index)];
    if (kind === undefined || entry === undefined) return undefined;
    if (entry === gone) continue;
    const record = `${kind} ${nameOf(entry, recordKinds[kind].name, before + Number(index))}`;
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

/**
 * Removes the key of a path, or the part of its value; false if the record cannot do without.
 * @param kind of a record, whose keys have a meaning
 */
function removed(node: Entry, path: string, kind?: string): boolean {
  // Names of attributes may have dots themselves.
  const [key] = Object.keys(node)
    .filter((name) => path === name || path.startsWith(`${name}.`) || path.startsWith(`${name}[`))
    .toSorted((left, right) => right.length - left.length);
  if (key === undefined) return false;
  const rest = path.slice(key.length).replace(/^\./, '');
  const value = node[key];
  if (divisible.has(key) && rest !== '') {
    const [, index] = /^\[(\d+)\]/.exec(rest) ?? [];
    // A claim may be named like what can be divided, and without a part of it would say more.
    if (isEntry(value) && kind !== undefined) return removed(value, rest);
    if (Array.isArray(value) && index !== undefined) {
      value[Number(index)] = gone;
      return true;
    }
  }
  const names = kind === undefined ? [] : [key, `${key} of ${kind}`];
  if (names.some((name) => required.has(name) || restricting.has(name))) return false;
  Reflect.deleteProperty(node, key);
  Reflect.deleteProperty(node, companions[key] ?? '');
  return true;
}

function compact(value: unknown): void {
  if (!Array.isArray(value)) return;
  const entries = value as unknown[];
  refill(
    entries,
    entries.filter((each) => each !== gone),
  );
}

function nameOf(entry: unknown, key: string, index: number): string {
  const name = isEntry(entry) ? entry[key] : entry;
  return typeof name === 'string' && name !== '' ? name : `number ${index + 1}`;
}

/**
 * Leaves out what two people would share: the e-mail address or phone number of the later one, and a person whose user
 * name is taken. Returns a line for each.
 * @param taken by earlier people, normalized; those of these people are added
 */
export function leaveOutShared(
  { users }: Pick<ImportedRecords, 'users'>,
  taken: Set<string> = new Set(),
): string[] {
  const lines: string[] = [];
  const isTaken = (value: unknown): boolean =>
    typeof value === 'string' && value !== '' && taken.has(normalizeIdentifier(value));
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
      if (typeof value === 'string') taken.add(normalizeIdentifier(value));
    }
    return true;
  });
  refill(users, kept);
  return lines;
}
