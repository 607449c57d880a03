import { readFileSync } from 'node:fs';
import { InvalidArgumentError } from 'commander';
import { CommandError, type Terminal } from './terminal.ts';

/** Of every command that applies or compares a declared state. */
export const allowAdministrationOption = [
  '--allow-administration',
  'let people and applications get built-in roles and scopes of the administration',
  false,
] as const;

/** Of every command that changes one record. */
export const writerOption = [
  '--owner <name>',
  'as whom to write the record; default: api, or whom the login may write for',
] as const;

/** Reads the value of a required option. Throws InvalidArgumentError when it is empty. */
export function nonEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return value;
}

/** Reads a TCP port. Throws InvalidArgumentError. */
export function port(value: string): number {
  const number = Number(value);
  if (Number.isInteger(number) && number > 0 && number < 65_536) return number;
  throw new InvalidArgumentError('It must be a port.');
}

/** Reads a time in ISO 8601 with its zone. Throws InvalidArgumentError. */
export function moment(value: string): Date {
  const time = new Date(value);
  if (/T.*(Z|[+-]\d\d:\d\d)$/.test(value) && !Number.isNaN(time.getTime())) return time;
  throw new InvalidArgumentError('It must be a time in ISO 8601 with its zone.');
}

/** Reads a whole number above 0. Throws InvalidArgumentError. */
export function wholeNumber(value: string): number {
  const number = Number(value);
  if (Number.isSafeInteger(number) && number > 0) return number;
  throw new InvalidArgumentError('It must be a whole number above 0.');
}

/**
 * The value of an option with an environment variable as its fallback: the command line first, then the variable, then
 * the file that `<variable>_FILE` names. Throws CommandError when that file cannot be read.
 */
export function orEnvironment(
  given: string | undefined,
  variable: string,
  { environment }: Pick<Terminal, 'environment'>,
): string | undefined {
  const value = given ?? environment[variable];
  if (value !== undefined && value !== '') return value;
  const file = environment[`${variable}_FILE`];
  if (file === undefined || file === '') return given;
  try {
    // As processes read it, so that both have the same value.
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch {
    throw new CommandError(`Cannot read the file that ${variable}_FILE names.`);
  }
}

/** The help text of such an option. */
export function environmentHelp(variable: string): string {
  return `(or ${variable}, ${variable}_FILE)`;
}
