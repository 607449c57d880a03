import { visit } from 'jsonc-parser';
import { OAuthError } from '@tessera/oauth';
import { addParameter, maxParameters } from '@tessera/pages';

/** JSON nested deeper than this is refused. */
const maxDepth = 32;

function refuse(message: string): never {
  throw new OAuthError('invalid_request', message);
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
        else
          addParameter(
            parameters,
            member,
            notes.has(member) ? value.toWellFormed().replaceAll('\0', ' ') : value,
          );
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
