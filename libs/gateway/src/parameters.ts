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
 * Reads a JSON body, which must be one flat object of strings with every name at most once. Throws `invalid_request`;
 * what the parser has to say is dropped, because it quotes the body.
 */
export function parseJson(text: string): Map<string, string> {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch {
    refuse('The body is not valid JSON.');
  }
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    refuse('The body must be a JSON object.');
  }
  const parameters = new Map<string, string>();
  const members: [string, unknown][] = Object.entries(document);
  if (members.length > maxParameters) refuse('The request has too many parameters.');
  for (const [name, value] of members) {
    if (typeof value !== 'string') refuse('Every member of the JSON object must be a string.');
    add(parameters, name, value);
  }
  // A parser keeps the last of two members with one name. All members are strings, so each took exactly two of them.
  if (countStrings(text) !== members.length * 2) refuse('A parameter is given more than once.');
  return parameters;
}

/** Number of string tokens in a text that is known to be valid JSON. */
function countStrings(text: string): number {
  let quotes = 0;
  for (let at = text.indexOf('"'); at !== -1; at = text.indexOf('"', at + 1)) {
    if (quotes % 2 === 0 || !isEscaped(text, at)) quotes += 1;
  }
  return quotes / 2;
}

function isEscaped(text: string, at: number): boolean {
  let backslashes = 0;
  while (text[at - 1 - backslashes] === '\\') backslashes += 1;
  return backslashes % 2 === 1;
}
