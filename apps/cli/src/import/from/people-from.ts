import { CommandError } from '../../terminal.ts';
import { cellsInCsv, rowsInCsv } from '../files/csv.ts';
import { isEntry, type Entry, type ReadPeople } from '../files/imported.ts';
import { isJsonLines, linesInJson } from '../files/json-lines.ts';
import { listInJson } from '../files/json-list.ts';
import { fieldsOf, keyOf, pathOf, type Fields } from './fields.ts';
import { knownKeys, type KnownKeys, type Reading } from './keys-of-product.ts';
import { createNotes, noNotes, type Notes } from './notes.ts';
import { idOf, personOf } from './person-of-product.ts';
import type { Product } from './product.ts';

/** What the command line says about a file of another product. */
export interface FromOptions {
  readonly format: 'csv' | 'json';
  /** Keys that the file lacks as nobody has a value there. */
  readonly nobodyHas: readonly string[];
  /** Password hashes that came in a file of their own, by the former identifier. */
  readonly hashes?: ReadonlyMap<string, string> | undefined;
  /** Milliseconds since the Unix epoch. */
  readonly now: number;
}

/**
 * Reads the people of a file that another product wrote. People who may not sign in there, or whose status is unknown,
 * are disabled; people who need more than a password there get none here. Throws CommandError, also for a file that
 * does not say who may sign in.
 */
export function peopleFrom(product: Product, text: string, options: FromOptions): ReadPeople {
  const known = knownKeys(product);
  const records = recordsIn(product, text, options.format);
  const { hashes, now } = options;
  const fieldsIn = function* fieldsIn(notes: Notes): Generator<Fields> {
    for (const record of records) {
      if (isEntry(record)) yield fieldsOf(product.unfold?.(record) ?? record, known.json);
      else notes.add('entry', 'is not a set of keys');
    }
  };
  try {
    const said = saidIn(fieldsIn(noNotes), known, options.nobodyHas);
    const notes = createNotes();
    const reading = { known, said, now, notes, hashes };
    const unused = new Set(hashes?.keys());
    for (const fields of fieldsIn(notes)) {
      unused.delete(idOf(fields, product));
      personOf(fields, reading);
    }
    for (const _ of unused) notes.add('password hash', 'the file of people does not have them');
    return {
      users: { [Symbol.iterator]: () => people(fieldsIn(noNotes), { ...reading, notes: noNotes }) },
      leftOut: notes.lines(),
    };
  } catch (error) {
    if (error instanceof SyntaxError) throw notJson();
    throw error;
  }
}

function* people(all: Iterable<Fields>, reading: Reading): Generator<Entry> {
  for (const fields of all) {
    const person = personOf(fields, reading);
    if (person !== undefined) yield person;
  }
}

/**
 * The names of the needed keys that somebody has, or of which the command line says that nobody does. Throws
 * CommandError if the file does not say who may sign in.
 */
function saidIn(
  all: Iterable<Fields>,
  { product, needed }: KnownKeys,
  nobodyHas: readonly string[],
): Set<string> {
  const absent = needed.filter(({ mayBeAbsent }) => mayBeAbsent).map(({ name }) => name);
  const said = new Set(nobodyHas.map((given) => absent.find((name) => keyOf(name) === keyOf(given)) ?? ''));
  if (said.has('')) {
    const names = absent.length === 0 ? 'nothing' : absent.join(',');
    throw new CommandError(`--nobody-has takes ${names} of ${product.name}.`, 2);
  }
  let people = 0;
  for (const { all: fields } of all) {
    people += 1;
    for (const { name, keys } of needed)
      if (!said.has(name) && fields.some(({ key }) => pathOf(key).some((part) => keys.includes(part))))
        said.add(name);
    if (said.size === needed.length) break;
  }
  const missing = needed.find(({ name, isStatus }) => isStatus && !said.has(name));
  if (missing === undefined || people === 0) return said;
  const remedy = missing.mayBeAbsent ? `, or say --nobody-has ${missing.name}` : '';
  throw new CommandError(
    `The file does not say who may sign in: nobody has ${missing.name}. Export it${remedy}.`,
  );
}

/** The people of the file one after the other, as often as somebody asks. Throws CommandError, SyntaxError. */
function recordsIn(product: Product, text: string, format: FromOptions['format']): Iterable<unknown> {
  if (format === 'csv')
    return product.columns === undefined ? rowsInCsv(text) : namedRows(product.columns, text);
  let list: Iterable<unknown> | undefined;
  try {
    list = listInJson(text, product.list);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    if (!isJsonLines(text)) throw notJson();
  }
  if (list !== undefined) return list;
  if (isJsonLines(text) && hasPeople(product, linesInJson(text))) return linesInJson(text);
  throw new CommandError('The file has no list of people.');
}

/** Whether the first one has something that people have. */
function hasPeople(product: Product, records: Iterable<unknown>): boolean {
  const { isUnderstood, json } = knownKeys(product);
  for (const record of records)
    return isEntry(record) && fieldsOf(product.unfold?.(record) ?? record, json).all.some(isUnderstood);
  return false;
}

/** The last column may lack, as it did in earlier versions. */
function* rowsOf(columns: readonly string[], cells: readonly (readonly string[])[]): Generator<Entry> {
  for (const row of cells)
    yield Object.fromEntries(columns.map((column, index) => [column, row[index] ?? '']));
}

function namedRows(columns: readonly string[], text: string): Iterable<Entry> {
  const cells = cellsInCsv(text);
  // Behind the last column there may be a separator.
  const counts = [columns.length, columns.length + 1];
  const other = cells.findIndex(({ length }) => !counts.includes(length));
  if (other !== -1)
    throw new CommandError(`Person ${other + 1} of the file has other columns than ${counts.join(' or ')}.`);
  return { [Symbol.iterator]: () => rowsOf(columns, cells) };
}

function notJson(): CommandError {
  return new CommandError('The file is not JSON.');
}
