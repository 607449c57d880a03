import { CsvError, parse } from 'csv-parse/sync';
import { CommandError } from '../../terminal.ts';

const usual = { bom: true, skip_empty_lines: true, trim: true } as const;

/**
 * The rows of CSV (RFC 4180) by the names that its first line has. Throws CommandError, without a cell, for what is not
 * CSV and for a name that is there twice: one of the two columns would be lost.
 * Nor are other separators than commas read, as spreadsheets of some languages write them.
 */
export function rowsInCsv(text: string): Record<string, string>[] {
  return read(() => parse<Record<string, string>>(text, { ...usual, columns: once }));
}

/** The cells of CSV without names, as many in each line. Quotes within a cell need no others. Throws CommandError. */
export function cellsInCsv(text: string): string[][] {
  return read(() => parse(text, { ...usual, relax_quotes: true }));
}

function once(names: string[]): string[] {
  if (names.length === 1 && /[;\t|]/.test(names[0] ?? ''))
    throw new CommandError(
      'The first line of the file is one name: separate the columns by commas (RFC 4180).',
    );
  names.forEach((name, index) => {
    const first = names.indexOf(name);
    if (name !== '' && first !== index)
      throw new CommandError(`Columns ${first + 1} and ${index + 1} of the file have one name.`);
  });
  return names;
}

function read<T>(parsed: () => T): T {
  try {
    return parsed();
  } catch (error) {
    if (!(error instanceof CsvError)) throw error;
    // Its message may repeat a cell.
    const line = typeof error['lines'] === 'number' ? `, line ${error['lines']}` : '';
    throw new CommandError(`The file is not CSV (${error.code.toLowerCase().replaceAll('_', ' ')}${line}).`);
  }
}
