import { readFileSync } from 'node:fs';
import { CommandError } from '../terminal.ts';

/** The secret in a file, as processes read theirs. Throws CommandError. */
export function secretIn(file: string): string {
  return contentOf(file, 'the secret of the application').replace(/\r?\n$/, '');
}

/** The token in a file, which its platform replaces from time to time. Throws CommandError. */
export function tokenIn(file: string): string {
  const token = contentOf(file, 'the token of the platform').trim();
  if (token !== '') return token;
  throw new CommandError(`The file ${file} is empty, and should have the token of the platform.`);
}

function contentOf(file: string, what: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    throw new CommandError(`Cannot read the file ${file} with ${what}.`);
  }
}
