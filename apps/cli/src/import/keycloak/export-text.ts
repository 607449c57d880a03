import { readFileSync } from 'node:fs';
import { CommandError } from '../../terminal.ts';

/** Reads the text of a file of an export. Throws CommandError. */
export function textOfFile(name: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(name);
  } catch {
    throw new CommandError(`Cannot read the file ${name}.`);
  }
  return textOf(bytes, name);
}

/**
 * The text of UTF-8, or of UTF-16 as JSON parsers find it by its first bytes; without a byte order mark. Throws
 * CommandError for other bytes, which would become other names of people.
 */
export function textOf(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder(encodingOf(bytes), { fatal: true }).decode(bytes);
  } catch {
    throw new CommandError(`The file is not UTF-8: ${name}.`);
  }
}

/** What standard input had, whose bytes were decoded before. Throws CommandError if they were not UTF-8. */
export function textOfInput(text: string): string {
  if (text.includes('\uFFFD')) throw new CommandError('The file is not UTF-8: standard input.');
  return text.replace(/^\uFEFF/, '');
}

/** JSON begins with a character of one byte. */
function encodingOf([first, second]: Uint8Array): string {
  if ((first === 0xff && second === 0xfe) || second === 0) return 'utf-16le';
  if ((first === 0xfe && second === 0xff) || first === 0) return 'utf-16be';
  return 'utf-8';
}
