import { isColorSupported, prettyFactory } from 'pino-pretty';
import type { SerializedError } from './serialize-error.ts';

/**
 * A finished JSON line as people read it at a terminal: time, level, process, message and everything else on one line.
 * Stacks are only in JSON.
 */
export function formatForPeople(options: { readonly colorize: boolean }): (line: string) => string {
  const format = prettyFactory({
    colorize: options.colorize && isColorSupported,
    customPrettifiers: {
      err: (error) => summary(error),
      // The library writes these four in front of the message, as they are.
      caller: escaped,
      hostname: escaped,
      name: escaped,
      pid: escaped,
    },
    errorLikeObjectKeys: [],
    ignore: 'service',
    messageFormat: (line, key) => `${escaped(line['service'])}: ${escaped(line[key])}`,
    messageKey: 'message',
    singleLine: true,
    timestampKey: 'time',
    translateTime: 'UTC:HH:MM:ss.l',
  });
  return (line) => format(line) ?? '';
}

/** Line breaks and control characters stay escaped, so that a message is one line and cannot act on the terminal. */
function escaped(text: unknown): string {
  return JSON.stringify(typeof text === 'string' || typeof text === 'number' ? String(text) : '')
    .slice(1, -1)
    .replaceAll('\\"', '"');
}

/** Messages and codes of an error and of everything that caused it. */
function summary(error: unknown): string {
  if (typeof error !== 'object' || error === null) return String(error);
  const { message = '', code, cause, errors = [] }: Partial<SerializedError> = error;
  const own = code === undefined ? message : `${message} (${code})`;
  const inner = [...errors, ...(cause === undefined ? [] : [cause])].map(summary);
  return [own, ...inner].filter((text) => text !== '').join(' <- ');
}
