import { declaredUserKeys } from '@tessera/directory';
import { CommandError } from '../../terminal.ts';
import { rowsInCsv } from './csv.ts';
import { isEntry, type Entry, type ReadPeople } from './imported.ts';
import { listInJson } from './json-list.ts';

const known: ReadonlySet<string> = new Set(declaredUserKeys);
const yesOrNo = new Set(['emailVerified', 'phoneNumberVerified']);
const listSeparator = ';';
/** The keys in any case, as other products write them. */
const keysInLowerCase = new Map(declaredUserKeys.map((key) => [key.toLowerCase(), key]));
/** What other products say in place of `status`, without its separators: nobody knows which value lets a person in. */
const otherStatuses =
  /^(?:is)?(?:(?:account|user)?(?:active|enabled?|disabled?|blocked|locked|suspended|deactivated|deleted|banned|archived|state|status)|expire[sd](?:at|on)?)$/;

/** Reads a JSON array of users of the declared state, or an object with this array as `users`. Throws CommandError. */
export function peopleInJson(text: string): ReadPeople {
  try {
    const list = listInJson(text, 'users');
    if (list === undefined) throw new CommandError('The file has no list of people.');
    return knownPart(() => list);
  } catch (error) {
    if (error instanceof SyntaxError) throw new CommandError('The file is not JSON.');
    throw error;
  }
}

/**
 * Reads CSV (RFC 4180) whose first line names the keys of users in the declared state: `attributes.<name>` and
 * `address.<part>` for one of those, roles with `;` between them. An empty cell is no value. Throws CommandError.
 */
export function peopleInCsv(text: string): ReadPeople {
  const rows = rowsInCsv(text);
  return knownPart(function* entries() {
    for (const row of rows) yield entryOf(normalized(row));
  });
}

function entryOf(row: Readonly<Record<string, string>>): Entry {
  const entry: Entry = {};
  for (const [column, cell] of Object.entries(row)) {
    if (cell === '') continue;
    const [, group, name = ''] = /^(attributes|address)\.(.+)$/.exec(column) ?? [];
    if (group === undefined) entry[column] = valueOf(column, cell);
    else entry[group] = { ...(entry[group] as Entry | undefined), [name]: cell };
  }
  return entry;
}

function valueOf(column: string, cell: string): unknown {
  if (column === 'roles') return cell.split(listSeparator).map((role) => role.trim());
  return yesOrNo.has(column) && /^(true|false)$/i.test(cell) ? cell.toLowerCase() === 'true' : cell;
}

/**
 * The people of a file as they may come, and what of them may not.
 * @param entries each time all of them
 */
function knownPart(entries: () => Iterable<unknown>): ReadPeople {
  const malformed: string[] = [];
  const unknown = new Map<string, number>();
  const withOtherStatus: string[] = [];
  let index = 0;
  for (const value of entries()) {
    index += 1;
    const entry = keysOf(value);
    if (entry === undefined) {
      malformed.push(`user number ${index}: is not a set of keys`);
      continue;
    }
    for (const key of otherKeys(entry)) unknown.set(key, (unknown.get(key) ?? 0) + 1);
    const status = otherStatus(entry);
    if (status === undefined) continue;
    const { username } = personOf(entry);
    const name = typeof username === 'string' ? username : `number ${index}`;
    withOtherStatus.push(
      `user ${name}: ${status} is not a known key. Write status: active, disabled or locked`,
    );
  }
  const keys = [...unknown].map(([key, count]) => `${key} of ${count} people: is not a known key`);
  return {
    users: { [Symbol.iterator]: () => people(entries()) },
    leftOut: [...malformed, ...keys, ...withOtherStatus],
  };
}

/** Without those whose status nobody knows: a person with one under another name is left out, whatever it is. */
function* people(entries: Iterable<unknown>): Generator<Entry> {
  for (const value of entries) {
    const entry = keysOf(value);
    if (entry !== undefined && otherStatus(entry) === undefined) yield personOf(entry);
  }
}

function keysOf(value: unknown): Entry | undefined {
  return isEntry(value) ? normalized(value) : undefined;
}

function otherKeys(entry: Entry): string[] {
  return Object.keys(entry).filter((key) => !known.has(key));
}

function otherStatus(entry: Entry): string | undefined {
  return otherKeys(entry).find(looksLikeStatus);
}

/** Whether a key that is not known may say who is let in. */
export function looksLikeStatus(key: string): boolean {
  return otherStatuses.test(key.toLowerCase().replaceAll(/[^a-z]/g, ''));
}

/**
 * The known keys. Without a user name the e-mail address is it. References such as `passwordFromFile` are for files of
 * one's own.
 */
function personOf(entry: Entry): Entry {
  const user: Entry = Object.fromEntries(Object.entries(entry).filter(([key]) => known.has(key)));
  return 'username' in user || !('email' in user) ? user : { username: user['email'], ...user };
}

/**
 * The entry with its keys and its status in the case that the declared state has; of two keys that then were one, the
 * second stays.
 */
function normalized<T>(given: Readonly<Record<string, T>>): Record<string, T | string> {
  const entry: Record<string, T | string> = {};
  for (const [key, value] of Object.entries(given)) {
    const known = keysInLowerCase.get(key.toLowerCase()) ?? key;
    const name = key !== known && (known in given || known in entry) ? key : known;
    entry[name] = name === 'status' && typeof value === 'string' ? value.trim().toLowerCase() : value;
  }
  return entry;
}
