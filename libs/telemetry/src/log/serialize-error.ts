import { cleanText } from './texts.ts';

const maxCauses = 5;
const maxErrors = 4;

export interface SerializedError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: SerializedError | string;
  readonly errors?: readonly SerializedError[];
}

/**
 * Name, code, message and stack of an error and of its causes. No other property is printed: drivers attach
 * parameters, rows and command arguments to theirs.
 */
export function serializeError(error: Error, depth = 0): SerializedError {
  const code =
    'code' in error && ['string', 'number'].includes(typeof error.code) ? String(error.code) : undefined;
  const stack = frames(error);
  return {
    name: cleanText(error.name),
    message: errorMessage(error),
    ...(code === undefined ? {} : { code: cleanText(code) }),
    ...(stack === '' ? {} : { stack }),
    ...causes(error, depth),
  };
}

function causes(error: Error, depth: number): Pick<SerializedError, 'cause' | 'errors'> {
  if (depth >= maxCauses) return {};
  const { cause } = error;
  const hasCause = cause !== undefined && cause !== null;
  return {
    ...(hasCause && {
      cause: cause instanceof Error ? serializeError(cause, depth + 1) : `[${typeof cause}]`,
    }),
    ...(error instanceof AggregateError && {
      errors: error.errors
        .slice(0, maxErrors)
        .filter((inner: unknown): inner is Error => inner instanceof Error)
        .map((inner) => serializeError(inner, maxCauses)),
    }),
  };
}

/** The message of an error without the input that some sources quote in it. */
export function errorMessage(error: Error): string {
  // SQLSTATE class 22 (data exception) and 23 quote the value; the code says what is wrong.
  const code = 'code' in error ? String(error.code) : '';
  if ('severity' in error && /^22[0-9A-Z]{3}$/.test(code)) return 'a value was refused by the database';
  if (error instanceof SyntaxError && error.message.includes('JSON')) return 'a text is not valid JSON';
  return cleanText(error.message.replace(/,? with args beginning with:.*$/s, ''));
}

/** The messages of an error and of its causes in one text, for what is expected and needs no stack. */
export function errorReason(error: Error): string {
  const reasons: string[] = [];
  let at: unknown = error;
  for (let depth = 0; at instanceof Error && depth <= maxCauses; depth += 1) {
    const message = errorMessage(at) || cleanText(at.name);
    if (reasons.at(-1) !== message) reasons.push(message);
    at = at.cause ?? (at instanceof AggregateError ? at.errors[0] : undefined);
  }
  if (typeof at === 'string') reasons.push(cleanText(at));
  return reasons.join(': ');
}

/** The first line of a stack repeats the message; the frames alone are kept. */
function frames(error: Error): string {
  const lines = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  return cleanText(lines.map((line) => line.trim()).join('\n'));
}

/** SQLSTATE of an error that the database itself reported. */
export function sqlState(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error) || typeof error.code !== 'string') return undefined;
  return /^[0-9A-Z]{5}$/.test(error.code) && 'severity' in error ? error.code : undefined;
}
