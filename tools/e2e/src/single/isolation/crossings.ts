import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { randomBytes } from 'node:crypto';
import type { RpcAnswer } from '../../harness/rpc-calls.ts';

/** Where a value stands in a request: the names on the way to it. */
type Path = readonly string[];

/** They say at whose door a request arrives; what is tested is that all other values are looked up behind it. */
const doors = new Set(['tenantId', 'issuer', 'ipAddress']);

/**
 * The values of a request that are one tenant's: texts that a request of the same kind of another tenant has otherwise.
 */
export function valuesOf(request: JsonObject, other: JsonObject): Path[] {
  const differing = (value: JsonValue | undefined, against: JsonValue | undefined, path: Path): Path[] => {
    if (doors.has(path.at(-1) ?? '')) return [];
    if (typeof value === 'string') return value === against || isNumber(value) ? [] : [path];
    if (typeof value !== 'object' || value === null) return [];
    return Object.entries(value).flatMap(([name, inner]) =>
      differing(inner, (against as JsonObject | undefined)?.[name], [...path, name]),
    );
  };
  return differing(request, other, []);
}

/** One value, two, or all of them. */
export function choicesOf(paths: readonly Path[]): Path[][] {
  const pairs = paths.flatMap((first, at) => paths.slice(at + 1).map((second) => [first, second]));
  const all = paths.length > 2 ? [[...paths]] : [];
  return [...paths.map((path) => [path]), ...pairs, ...all];
}

/** The request with other values in these places. */
export function withValues(request: JsonObject, values: ReadonlyMap<Path, string>): JsonObject {
  const changed = structuredClone(request);
  for (const [path, value] of values) {
    let inner = changed;
    for (const name of path.slice(0, -1)) inner = inner[name] as JsonObject;
    inner[path.at(-1) ?? ''] = value;
  }
  return changed;
}

/** The text at a path of a message. Throws if there is none. */
export function textAt(message: JsonValue | undefined, ...path: Path): string {
  let value = message;
  for (const name of path) value = (value as JsonObject | undefined)?.[name];
  if (typeof value !== 'string') throw new Error(`there is no ${path.join('.')}`);
  return value;
}

/** A value of the same shape that nobody was given. Prefixes such as `tc_` stay. */
export function randomLike(value: string): string {
  const [, prefix = '', rest = ''] = /^(t\w_)?(.*)$/s.exec(value) ?? [];
  const random = [...randomBytes(rest.length)];
  const like = (set: string, at: number): string => set[(random[at] ?? 0) % set.length] ?? '';
  const letters = 'abcdefghijklmnopqrstuvwxyz';
  const characters = [...rest].map((character, at) => {
    if (/[a-z]/.test(character)) return like(letters, at);
    if (/[A-Z]/.test(character)) return like(letters.toUpperCase(), at);
    return /\d/.test(character) ? like('0123456789', at) : character;
  });
  return prefix + characters.join('');
}

/** What an answer says, without the values that were asked about and those that differ with each answer. */
export function shapeOf({ code, details, message }: RpcAnswer, asked: readonly string[]): unknown {
  const without = (text: string): string =>
    asked
      .toSorted((one, other) => other.length - one.length)
      .reduce((rest, value) => rest.replaceAll(value, '<asked>'), text);
  return { code, details: without(details).replaceAll(/\d+/g, '<n>'), message: typesOf(message) };
}

function typesOf(value: JsonValue): unknown {
  // However many there are: lists grow as requests are tried.
  if (Array.isArray(value)) return value.slice(0, 1).map(typesOf);
  if (typeof value !== 'object' || value === null) return typeof value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, typesOf(inner)]));
}

/** 64-bit numbers are texts in JSON. */
function isNumber(value: string): boolean {
  return /^\d+$/.test(value);
}
