import { redacted } from './log-text.ts';

/** Names that must never stand in a line with a value. */
const names = [
  'password',
  'clientSecret',
  'accessToken',
  'refreshToken',
  'idToken',
  'token',
  'authorization',
  'cookie',
  'codeVerifier',
  'deviceCode',
  'userCode',
];

const isNamed = new Set(names);
/** A quote inside a text is escaped in JSON, so that this finds names of members alone. */
const uncensored = new RegExp(`"(?:${names.join('|')})":(?!"\\[redacted\\]"|null|true|false)`);

/**
 * The second wall, behind the serializer, on the finished line: a value that still stands under one of the names is
 * censored, however deep. One look at each line; the work is done only if something was let through.
 */
export function censorLine(line: string): string {
  if (!uncensored.test(line)) return line;
  try {
    const record: unknown = JSON.parse(line, (name, value: unknown) =>
      isNamed.has(name) ? redacted : value,
    );
    return `${JSON.stringify(record)}\n`;
  } catch {
    return `${JSON.stringify({ level: 'error', message: 'a line of the log was withheld' })}\n`;
  }
}
