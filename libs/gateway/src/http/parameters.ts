import { visit } from 'jsonc-parser';
import { isDecodable, isStorable } from '@tessera/kit';
import { OAuthError } from '@tessera/oauth';

/** A request, or a JSON object in it, with more parameters than this is refused. */
const maxParameters = 64;

/** JSON nested deeper than this is refused. */
const maxDepth = 32;

function refuse(message: string): never {
  throw new OAuthError('invalid_request', message);
}

/**
 * Adds one parameter; refuses a second of the same name (RFC 6749 §3.1 and §3.2) and text that no store can hold.
 * Libraries send `resource`, of which there may be several (RFC 8707 §2), more than once with the same value: that
 * counts as one.
 */
function add(parameters: Map<string, string>, name: string, value: string): void {
  if (name === 'resource' && parameters.get(name) === value) return;
  if (parameters.has(name)) refuse('A parameter is given more than once.');
  if (!isStorable(name) || !isStorable(value)) {
    refuse('A parameter holds characters that are not allowed.');
  }
  parameters.set(name, value);
}

/**
 * Reads `application/x-www-form-urlencoded` text, from a body or a query: every name at most once, valid
 * percent-encoding of UTF-8, a bounded number of parameters. Throws `invalid_request`; never repeats what was sent.
 */
export function parseForm(text: string): Map<string, string> {
  if (text.split('&', maxParameters + 1).length > maxParameters) {
    refuse('The request has too many parameters.');
  }
  // `URLSearchParams` keeps broken percent-encoding as it is and replaces invalid UTF-8.
  if (!isDecodable(text)) refuse('The percent-encoding of a parameter is broken.');
  const parameters = new Map<string, string>();
  // `URLSearchParams` drops a question mark at the beginning, which here is part of a name.
  for (const [name, value] of new URLSearchParams(`&${text}`)) add(parameters, name, value);
  return parameters;
}

/**
 * Reads a JSON body, which must be one object. In it and in every object inside it a name may be given only once. The
 * members of `known` names must be strings; null counts as left out, and members of other names are ignored (RFC 6749
 * §3.2). In the members in `notes`, text that no store can hold is replaced; in others it is refused. The members that
 * are ignored go into `ignored`. Throws `invalid_request`; never repeats what was sent.
 */
export function parseJson(
  text: string,
  known: ReadonlySet<string>,
  notes: ReadonlySet<string> = new Set(),
  ignored: Set<string> = new Set(),
): Map<string, string> {
  const parameters = new Map<string, string>();
  /** The names so far of each object that is open, outermost first; an array has none. */
  const open: Set<string>[] = [];
  /** The outermost member whose value comes next. */
  let member = '';

  const enter = () => {
    if (open.length === 1 && known.has(member)) refuseValue(member);
    if (open.length === maxDepth) refuse('The body is nested too deeply.');
    open.push(new Set());
  };
  const leave = () => void open.pop();

  visit(
    text,
    {
      onObjectBegin: enter,
      onObjectEnd: leave,
      onArrayBegin: () => {
        if (open.length === 0) refuse('The body must be a JSON object.');
        enter();
      },
      onArrayEnd: leave,
      onObjectProperty: (name) => {
        const names = open.at(-1);
        if (names?.has(name) === true) refuse('A parameter is given more than once.');
        if (names?.size === maxParameters) refuse('The request has too many parameters.');
        names?.add(name);
        if (open.length !== 1) return;
        member = name;
        if (!known.has(name)) ignored.add(name);
      },
      onLiteralValue: (value: unknown) => {
        if (open.length === 0) refuse('The body must be a JSON object.');
        if (open.length > 1 || value === null || !known.has(member)) return;
        if (typeof value !== 'string') refuseValue(member);
        else add(parameters, member, notes.has(member) ? value.toWellFormed().replaceAll('\0', ' ') : value);
      },
      onError: () => refuse('The body is not valid JSON.'),
    },
    { disallowComments: true, allowTrailingComma: false },
  );
  return parameters;
}

function refuseValue(name: string): never {
  refuse(`The member ${name} must be a string.`);
}
