import { readFileSync } from 'node:fs';
import { CommandError } from '../../terminal.ts';

/** What spreadsheets and administration consoles write besides UTF-8, by its first bytes. */
const marks = [
  { bytes: [0xff, 0xfe], encoding: 'utf-16le' },
  { bytes: [0xfe, 0xff], encoding: 'utf-16be' },
] as const;

/** The text of a file in UTF-8, or in UTF-16 that says so. Throws CommandError: nothing is read as something else. */
export function textOfFile(file: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(file);
  } catch {
    throw new CommandError(`Cannot read the file ${file}.`);
  }
  const marked = marks.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte));
  try {
    return new TextDecoder(marked?.encoding ?? 'utf-8', { fatal: true }).decode(bytes);
  } catch (error) {
    if (!(error instanceof TypeError)) throw new CommandError(`Cannot read the file ${file}.`);
    throw new CommandError(`The file ${file} is not UTF-8. Save it as UTF-8 and try again.`);
  }
}
