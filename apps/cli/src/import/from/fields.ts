import { isEntry, type Entry } from '../files/imported.ts';

/** A value of a person, such as that of `user_metadata.plan`. */
export interface Field {
  /** As the file has it. */
  readonly name: string;
  /** For comparisons. */
  readonly key: string;
  readonly value: unknown;
}

/** All values of a person, also empty ones, in the order of the file. */
export interface Fields {
  readonly all: readonly Field[];
  /** Those with the key that have a value. */
  of(name: string): readonly Field[];
  /** Those and what is in them: a status that is an object says something too. */
  within(name: string): readonly Field[];
  /** The first of them as text; empty without one. */
  text(name: string): string;
}

/** Deeper objects are values: no product writes one that means something here. */
const deepest = 6;

/** The key in the form in which keys are compared: without case, spaces, `-`, `_`, and with `.0` for `[0]`. */
export function keyOf(name: string): string {
  const found = keys.get(name);
  if (found !== undefined) return found;
  const key = name
    .toLowerCase()
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .replaceAll(/[\s_-]/g, '');
  if (keys.size < mostKeys) keys.set(name, key);
  return key;
}

/** In UTF-16 code units. */
const longestPath = 512;

/** Those of all people are mostly the same. */
const keys = new Map<string, string>();
const mostKeys = 10_000;

/** The key itself, and those of what it is in; a longer one than products write is one name. */
export function pathOf(key: string): string[] {
  const path = [key];
  // Each part of it would be as long again.
  if (key.length > longestPath) return path;
  for (let end = key.lastIndexOf('.'); end > 0; end = key.lastIndexOf('.', end - 1))
    path.push(key.slice(0, end));
  return path;
}

/** @param json keys, as they are compared, whose text is JSON */
export function fieldsOf(record: Entry, json: ReadonlySet<string>): Fields {
  const all: Field[] = [];
  const byKey = new Map<string, Field[]>();
  // What is in an object takes its place, so that nothing is called again for it.
  const rest = entriesOf('', record, 1);
  for (let next = rest.pop(); next !== undefined; next = rest.pop()) {
    const { name, depth } = next;
    const key = keyOf(name);
    const value = json.has(key) ? parsed(next.value) : next.value;
    if (isEntry(value) && depth < deepest && Object.keys(value).length > 0) {
      for (const each of entriesOf(`${name}.`, value, depth + 1)) rest.push(each);
      continue;
    }
    const field = { name, key, value };
    all.push(field);
    if (isEmpty(value)) continue;
    const same = byKey.get(key);
    if (same === undefined) byKey.set(key, [field]);
    else same.push(field);
  }
  return {
    all,
    of: (name) => byKey.get(keyOf(name)) ?? [],
    within: (name) =>
      all.filter(
        ({ key, value }) => (key === keyOf(name) || key.startsWith(`${keyOf(name)}.`)) && !isEmpty(value),
      ),
    text: (name) => textOf(byKey.get(keyOf(name))?.[0]?.value) ?? '',
  };
}

interface Unread {
  readonly name: string;
  readonly value: unknown;
  readonly depth: number;
}

/** The last one first. */
function entriesOf(prefix: string, object: Entry, depth: number): Unread[] {
  return Object.entries(object)
    .map(([name, value]) => ({ name: `${prefix}${name}`, value, depth }))
    .toReversed();
}

/** Whether something is no value, as an empty cell. */
export function isEmpty(value: unknown): boolean {
  if (value === null || value === undefined) return true;
  if (typeof value === 'string') return value.trim() === '';
  return Array.isArray(value) ? value.length === 0 : isEntry(value) && Object.keys(value).length === 0;
}

/** A value as text without spaces around it; undefined for what is none, such as a list. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value.trim();
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined;
}

/** What a text says in JSON; the text, if it says nothing in it. */
export function parsed(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\s*[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}
