import type { DescField, JsonObject, JsonValue } from '@bufbuild/protobuf';
import { normalizeStart } from '@tessera/kit';
import { CsvError, parse } from 'csv-parse/sync';
import { nouns, settable } from '../records/nouns.ts';
import { formOf } from '../records/record-options.ts';
import { CommandError } from '../terminal.ts';

/** Somebody who is to be invited. */
export interface ListedPerson {
  /** How messages find the person: the line of the file on which it ends, or what the command line calls it. */
  readonly place: string;
  readonly username: string;
  /** Empty without one. */
  readonly email: string;
  /** The fields that are given, as JSON of the message. */
  readonly user: JsonObject;
}

/**
 * The people of a CSV file (RFC 4180) whose first line names the fields; empty cells are left out. Throws CommandError,
 * with every mistake.
 */
export function peopleIn(text: string, path: string): ListedPerson[] {
  const fields = new Map(
    nouns
      .filter(({ name }) => name === 'user')
      .flatMap(settable)
      .map((field) => [field.jsonName, field]),
  );
  let parsed: { record: Record<string, string>; info: { lines: number } }[];
  try {
    parsed = parse(text, {
      bom: true,
      info: true,
      skip_empty_lines: true,
      trim: true,
      columns: (names: string[]) => {
        checkColumns(names, fields, path);
        return names;
      },
    }) as unknown as typeof parsed;
  } catch (error) {
    // Its message names the line.
    if (error instanceof CsvError) throw new CommandError(`${path} is not CSV: ${error.message}`);
    throw error;
  }
  const problems: string[] = [];
  const seen = new Set<string>();
  const people = parsed.map(({ record, info: { lines: line } }) => {
    const place = `${path}:${line}`;
    const report = (problem: string) => problems.push(`${place}: ${problem}`);
    const user: JsonObject = {};
    for (const [name, cell] of Object.entries(record)) {
      const field = fields.get(name);
      if (cell !== '' && field !== undefined) user[name] = valueOf(field, cell, report);
    }
    const { username = '', email = '' } = record;
    const key = comparedName(username);
    if (key === '') report('username is required');
    else if (seen.has(key)) report(`${username} is there twice`);
    seen.add(key);
    return { place, username, email, user };
  });
  if (people.length === 0)
    problems.push(`${path} lists nobody: write a line of field names, then one for each person.`);
  if (problems.length > 0) throw new CommandError(problems.join('\n'));
  return people;
}

/** What the command line says of one person. */
export interface NamedPerson {
  /** E-mail address, which is the user name too, or a user name. */
  readonly address: string;
  readonly email?: string;
  readonly name?: string;
  readonly role?: readonly string[];
}

/** The person, as a file of one row has it. */
export function personNamed({ address, email: given, name, role: roles }: NamedPerson): ListedPerson {
  const email = given ?? (address.includes('@') ? address : '');
  const user = {
    username: address,
    ...(email !== '' && { email }),
    ...(name !== undefined && { name }),
    ...(roles !== undefined && { roles: [...roles] }),
  };
  return { place: address, username: address, email, user };
}

/** User names that have the same form are those of one person. */
export function comparedName(username: string): string {
  return normalizeStart(username, 'NFC', username.length).toLowerCase();
}

function checkColumns(names: readonly string[], fields: ReadonlyMap<string, DescField>, path: string): void {
  const problems = names.flatMap((name, at) => {
    const field = fields.get(name);
    const form = field && formOf(field);
    if (form === 'secret') return [`${name}: the people set their passwords themselves`];
    if (form === undefined)
      return [`${name || `column ${at + 1}`}: is no field that a file of people can have`];
    return names.indexOf(name) === at ? [] : [`${name}: is there twice`];
  });
  if (!names.includes('username')) problems.push('username: is required');
  if (problems.length > 0)
    throw new CommandError(problems.map((problem) => `${path}:1: ${problem}`).join('\n'));
}

function valueOf(field: DescField, cell: string, report: (problem: string) => void): JsonValue {
  switch (formOf(field)) {
    case 'texts':
      return cell.split(/\s*;\s*/);
    case 'yes or no': {
      const isYes = /^(yes|true)$/i.test(cell);
      if (!isYes && !/^(no|false)$/i.test(cell)) report(`${field.jsonName} must be yes or no`);
      return isYes;
    }
    default:
      return cell;
  }
}
