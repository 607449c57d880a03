import { OAuthError } from '@tessera/oauth';

/** More parameters than this in one request are refused before anything is decoded. */
const maxParameters = 64;

function refuse(message: string): never {
  throw new OAuthError('invalid_request', message);
}

/** Adds one parameter; refuses a second of the same name (RFC 6749 §3.1 and §3.2) and text no store can hold. */
function add(parameters: Map<string, string>, name: string, value: string): void {
  if (parameters.has(name)) refuse('A parameter is given more than once.');
  if (!name.isWellFormed() || !value.isWellFormed() || name.includes('\0') || value.includes('\0')) {
    refuse('A parameter holds characters that are not allowed.');
  }
  parameters.set(name, value);
}

/**
 * Reads `application/x-www-form-urlencoded` text, from a body or a query, strictly: every name at most once, valid
 * percent-encoding of UTF-8, a bounded number of parameters. Throws `invalid_request`; never repeats what was sent.
 */
export function parseForm(text: string): Map<string, string> {
  const parameters = new Map<string, string>();
  const pairs = text.split('&', maxParameters + 1);
  if (pairs.length > maxParameters) refuse('The request has too many parameters.');
  for (const pair of pairs) {
    if (pair === '') continue;
    const equals = pair.indexOf('=');
    const name = equals === -1 ? pair : pair.slice(0, equals);
    add(
      parameters,
      decodeFormComponent(name),
      equals === -1 ? '' : decodeFormComponent(pair.slice(equals + 1)),
    );
  }
  return parameters;
}

/** One name or value of a form. Throws `invalid_request` when the percent-encoding is broken. */
export function decodeFormComponent(text: string): string {
  if (!text.includes('%') && !text.includes('+')) return text;
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return refuse('The percent-encoding of a parameter is broken.');
  }
}

/**
 * Reads a JSON body, which must be one object with every name at most once. The members of `known` names must be
 * strings; null counts as left out, and members of other names are ignored (RFC 6749 §3.2). Of the members in `notes` the
 * text that no store can hold is replaced; in others it is refused. Throws `invalid_request`; what the parser has to say is
 * dropped, because it quotes the body.
 */
export function parseJson(
  text: string,
  known: ReadonlySet<string>,
  notes: ReadonlySet<string> = new Set(),
): Map<string, string> {
  return parsePlainJson(text, known) ?? parseAnyJson(text, known, notes);
}

const plainStart = /[ \t\r\n]*\{/y;
/** A member whose name and value are texts without escapes, and what follows it. */
const plainMember = /[ \t\r\n]*"([^"\\\0-\x1f]*)"[ \t\r\n]*:[ \t\r\n]*"([^"\\\0-\x1f]*)"[ \t\r\n]*([,}])/y;
const plainEnd = /[ \t\r\n]*$/y;

/**
 * The same for an object of known names with plain texts, which nearly every body is, in one go and at a quarter of the
 * cost; undefined for everything else, whatever is wrong with it.
 */
function parsePlainJson(text: string, known: ReadonlySet<string>): Map<string, string> | undefined {
  plainStart.lastIndex = 0;
  if (!plainStart.test(text)) return undefined;
  const parameters = new Map<string, string>();
  plainMember.lastIndex = plainStart.lastIndex;
  for (let member = plainMember.exec(text); member !== null; member = plainMember.exec(text)) {
    const [, name = '', value = '', next] = member;
    if (!known.has(name) || parameters.has(name)) return undefined;
    parameters.set(name, value);
    if (next === ',') continue;
    plainEnd.lastIndex = plainMember.lastIndex;
    return plainEnd.test(text) ? parameters : undefined;
  }
  return undefined;
}

function parseAnyJson(
  text: string,
  known: ReadonlySet<string>,
  notes: ReadonlySet<string>,
): Map<string, string> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    refuse('The body is not valid JSON.');
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    refuse('The body must be a JSON object.');
  }
  const names = memberNames(text);
  if (names.length > maxParameters) refuse('The request has too many parameters.');
  // A parser keeps the last of two members with one name.
  if (new Set(names).size !== names.length) refuse('A parameter is given more than once.');
  const parameters = new Map<string, string>();
  for (const [name, value] of Object.entries(document) as [string, unknown][]) {
    if (value === null || !known.has(name)) continue;
    if (typeof value !== 'string') refuse(`The member ${name} must be a string.`);
    add(parameters, name, notes.has(name) ? value.toWellFormed().replaceAll('\0', ' ') : value);
  }
  return parameters;
}

/** The member names of the outermost object, repeated ones included, of a text that is known to be valid JSON. */
function memberNames(text: string): string[] {
  const names: string[] = [];
  let depth = 0;
  for (const { 0: token } of text.matchAll(/"(?:[^"\\]|\\.)*"\s*:?|[{}[\]]/g)) {
    if (token === '{' || token === '[') depth += 1;
    else if (token === '}' || token === ']') depth -= 1;
    else if (depth === 1 && token.endsWith(':')) {
      names.push(JSON.parse(token.slice(0, token.lastIndexOf('"') + 1)) as string);
    }
  }
  return names;
}
