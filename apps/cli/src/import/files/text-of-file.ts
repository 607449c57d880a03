import { readFileSync } from 'node:fs';
import { CommandError, type Terminal } from '../../terminal.ts';

/** The text of a file, or of standard input as `-`. Throws CommandError: nothing is read as something else. */
export async function contentOf(file: string, terminal: Pick<Terminal, 'input'>): Promise<string> {
  if (file === '-') return textOfInput(await terminal.input());
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    throw new CommandError(`Cannot read the file ${file}.`);
  }
  return textOf(bytes, file);
}

/**
 * The text of UTF-8, or of UTF-16 as JSON parsers find it by its first bytes; without a byte order mark. Throws
 * CommandError for other bytes, which would become other names of people.
 */
export function textOf(bytes: Uint8Array, file: string): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw new CommandError(`Cannot read the file ${file}.`);
    throw new CommandError(`The file ${file} is not UTF-8. Save it as UTF-8 and try again.`);
  }
}

/** What standard input had, whose bytes were decoded before. Throws CommandError if they were not UTF-8. */
export function textOfInput(text: string): string {
  if (text.includes('\uFFFD')) throw new CommandError('Standard input is not UTF-8.');
  return text.replace(/^\uFEFF/, '');
}

/** JSON and the first line of CSV begin with a character of one byte. */
export function encodingOf([first, second]: Uint8Array): string {
  if ((first === 0xff && second === 0xfe) || second === 0) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || first === 0) return 'utf-16be';
  return 'utf-8';
}
