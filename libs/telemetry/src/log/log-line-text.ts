const plain = /^[\w.:/@+[\]-]+$/;

/** What the members of a finished line are; there are more. */
interface Line {
  readonly time?: string;
  readonly level?: string;
  readonly service?: string;
  readonly message?: string;
  readonly error?: unknown;
}

/**
 * A finished line of the log as people read it at a terminal: time, level, process, message, and what else it says as
 * `name=value`. Made from the JSON line, so that the same was taken out of it; stacks stay with JSON.
 */
export function textLine(line: string): string {
  const { time = '', level = '', service = '', message = '', error, ...rest } = JSON.parse(line) as Line;
  const head = [time.slice(11), level.toUpperCase().padEnd(5), service, printable(message)];
  const said = Object.entries(rest).map(([name, value]) => `${printable(name)}=${valueText(value)}`);
  const failure = error === undefined ? [] : [`error=${valueText(errorText(error))}`];
  return `${[...head, ...said, ...failure].join('  ')}\n`;
}

function valueText(value: unknown): string {
  if (typeof value === 'string' && plain.test(value)) return value;
  return JSON.stringify(value) ?? '';
}

/** JSON escapes what acts on a terminal and is not escaped already. */
function printable(text: string): string {
  return JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"');
}

interface ErrorRecord {
  readonly message?: string;
  readonly code?: string;
  readonly cause?: ErrorRecord | string;
  readonly errors?: readonly ErrorRecord[];
}

/** Messages and codes, down to the last cause. */
function errorText(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message = '', code, cause, errors = [] } = error as ErrorRecord;
  const own = code === undefined ? message : `${message} (${code})`;
  const inner = [...errors, ...(cause === undefined ? [] : [cause])].map(errorText);
  return [own, ...inner].filter((text) => text !== '').join(' <- ');
}
