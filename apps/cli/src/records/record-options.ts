import { ScalarType, type DescField, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import { Option } from 'commander';
import { readFileSync } from 'node:fs';
import { CommandError, type Terminal } from '../terminal.ts';
import { fieldHelp } from './field-help.ts';
import { settable, type Noun } from './nouns.ts';

/** How the command line takes a field; undefined for one that only a file can give. */
type Form = 'text' | 'texts' | 'yes or no' | 'secret';

export function formOf(field: DescField): Form | undefined {
  // In an argument it would stand in the list of processes and in the history of the shell.
  if (field.proto.options?.debugRedact === true) return 'secret';
  if (field.fieldKind === 'list' && field.listKind === 'scalar') return 'texts';
  if (field.fieldKind !== 'scalar') return undefined;
  return field.scalar === ScalarType.BOOL ? 'yes or no' : 'text';
}

/** A field of a record that may be given as an option. */
export interface RecordOption {
  readonly field: DescField;
  readonly option: Option;
  valueOf(given: unknown, terminal: Terminal): Promise<JsonValue>;
}

/**
 * The options of `create`, or of `update`, which changes the fields that it is given. Lists are given as several words;
 * what has a structure of its own, in a file.
 */
export function recordOptions(noun: Noun, verb: 'create' | 'update'): RecordOption[] {
  return settable(noun).flatMap((field) => {
    const form = formOf(field);
    if (form === undefined) return [];
    // The option of that name says whom to change.
    const isTaken = verb === 'update' && noun.keyOption.startsWith(`--${field.localName} `);
    const name = kebab(isTaken ? `new ${field.localName}` : field.localName);
    return [{ field, ...optionOf(form, name, fieldHelp(noun, field.localName)) }];
  });
}

function optionOf(form: Form, name: string, help: string): Omit<RecordOption, 'field'> {
  switch (form) {
    case 'text':
      return { option: new Option(`--${name} <text>`, help), valueOf: async (given) => String(given) };
    case 'texts':
      return {
        option: new Option(`--${name} <text...>`, help),
        valueOf: async (given) => (given as readonly string[]).map(String),
      };
    case 'yes or no':
      return {
        option: new Option(`--${name} <yes or no>`, help).choices(['yes', 'no']),
        valueOf: async (given) => given === 'yes',
      };
    case 'secret':
      return {
        option: new Option(
          `--${name}-file <path>`,
          `${help}: the first line of this file; - reads standard input`,
        ),
        valueOf: async (given, terminal) => {
          const [line = ''] = (await contentOf(String(given), terminal)).split(/\r?\n/);
          if (line === '') throw new CommandError(`The file for --${name}-file has no first line.`);
          return line;
        },
      };
  }
}

/** The value of an option as commander names it. */
export function givenBy({ option }: Pick<RecordOption, 'option'>, values: Readonly<Record<string, unknown>>) {
  return values[option.attributeName()];
}

/** The record of a file, as YAML or JSON: an entry of the declared state. Throws CommandError. */
export async function recordIn(path: string, terminal: Terminal): Promise<JsonObject> {
  let content: unknown;
  try {
    const { parse } = await import('yaml');
    content = parse(await contentOf(path, terminal));
  } catch (error) {
    if (error instanceof CommandError) throw error;
    throw new CommandError(`${path} is neither YAML nor JSON. ${firstLine(error)}`);
  }
  if (typeof content === 'object' && content !== null && !Array.isArray(content))
    return content as JsonObject;
  throw new CommandError(`${path} has no record: write its fields, such as name: Ada.`);
}

/** The text of a file; `-` is standard input. Throws CommandError. */
export async function contentOf(path: string, terminal: Terminal): Promise<string> {
  if (path === '-') return terminal.input();
  try {
    return readFileSync(path, 'utf8');
  } catch {
    throw new CommandError(`Cannot read the file ${path}.`);
  }
}

/** What is wrong, without the lines of the file that a parser repeats: they may hold a password. */
function firstLine(error: unknown): string {
  return error instanceof Error ? (error.message.split('\n')[0] ?? '') : '';
}

/** `redirectUris` is `redirect-uris`. */
function kebab(name: string): string {
  return name.replaceAll(/ |(?=[A-Z])/g, '-').toLowerCase();
}
