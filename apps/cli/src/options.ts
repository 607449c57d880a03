import { readFileSync } from 'node:fs';
import { timestampFromMs, type Timestamp } from '@bufbuild/protobuf/wkt';
import { InvalidArgumentError, Option, type Command } from 'commander';
import { CommandError, type Terminal } from './terminal.ts';

export const formats = ['json', 'yaml', 'table'] as const;
export type Format = (typeof formats)[number];

/** How a command prints what it answers. */
export function outputOption(standard: Format, choices: readonly string[] = formats): Option {
  return new Option('-o, --output <format>', 'how to print it').choices(choices).default(standard);
}

/** Of every command that applies or compares a declared state. */
export const allowAdministrationOption = [
  '--allow-administration',
  'let people and applications get built-in roles and scopes of the administration',
  false,
] as const;

/** Of every command that acts as an application. */
export const tokenFileOption = [
  '--token-file <path>',
  'file with a token of its platform, which the application trusts, in place of a secret',
] as const;

/** Of every command that may change what another owner has. */
export const takeOverOption = ['--take-over', 'take over what belongs to another owner', false] as const;

/** Of every command that changes one record. */
export const writerOption = [
  '--owner <name>',
  'as whom to write the record; default: api, or whom the login may write for',
] as const;

const withDefault = new WeakSet<Option>();

/**
 * The tenant of a command, which the environment or the context gives if the option does not. What is about a tenant
 * itself (`tenant delete`, `disable`), and an import, take none by default: there the wrong one is lost, or gets the
 * people of another.
 */
export function tenantOption(): Option {
  const help = 'the tenant; default: TESSERA_TENANT, or that of the context';
  const option = new Option('--tenant <id>', help).argParser(nonEmpty);
  withDefault.add(option);
  return option;
}

/** Whether a command gets its tenant by default. */
export function lacksTenant(command: Command): boolean {
  const option = command.options.find((each) => withDefault.has(each));
  return option !== undefined && command.getOptionValue(option.attributeName()) === undefined;
}

/** How a command names a person. */
export interface PersonOptions {
  readonly tenant: string;
  readonly username?: string;
  readonly userId?: string;
}

/** What a command is about. */
interface Subject {
  /** `person` */
  readonly name: string;
  /** The option that may stand in place of the argument, such as `--client-id <id>`. */
  readonly flags: string;
  readonly help: string;
  /** Another option that may. */
  readonly otherFlags?: string;
  readonly isRequired: boolean;
}

/** What a command does; commander knows no type of its options. Throws CommandError. */
type Act = (options: never) => Promise<void>;

/** A command about what its argument, or an option, names. `act` gets it as the option. */
export function about(
  command: Command,
  { name, flags, help, otherFlags, isRequired }: Subject,
  act: Act,
): Command {
  const ways = [flags, ...(otherFlags === undefined ? [] : [otherFlags])].map((each) => new Option(each));
  const [option] = ways;
  const key = option?.attributeName() ?? '';
  command
    .argument(`[${name}]`, isRequired ? `${help} (required)` : help, nonEmpty)
    .option(flags, 'in place of the argument', nonEmpty);
  if (otherFlags !== undefined) command.option(otherFlags, 'likewise, its identifier', nonEmpty);
  command.hook('preAction', () => {
    const [argument] = command.processedArgs as readonly (string | undefined)[];
    const options = command.opts<Readonly<Record<string, unknown>>>();
    const given = ways.filter((way) => options[way.attributeName()] !== undefined).length;
    const named = `as the argument or by ${ways.map(({ long }) => long).join(' or ')}`;
    if (argument !== undefined && given > 0) throw new CommandError(`Name the ${name} once: ${named}.`, 2);
    if (isRequired && argument === undefined && given === 0)
      throw new CommandError(`Name the ${name}: ${named}.`, 2);
  });
  return command.action(async (argument: string | undefined, options: Readonly<Record<string, unknown>>) => {
    await act((argument === undefined ? options : { ...options, [key]: argument }) as never);
  });
}

/** A command about a person, who is named as its argument or by an option. */
export function ofPerson(command: Command, act: Act, isRequired = false): Command {
  const help = 'user name, e-mail address or phone number';
  const person = { name: 'person', flags: '--username <identifier>', help, otherFlags: '--user-id <id>' };
  return about(command.addOption(tenantOption()), { ...person, isRequired }, act);
}

/** Reads the value of a required option. Throws InvalidArgumentError when it is empty. */
export function nonEmpty(value: string): string {
  if (value === '') throw new InvalidArgumentError('It must not be empty.');
  return value;
}

/** Reads the URL of an issuer. Throws InvalidArgumentError. */
export function issuerUrl(value: string): string {
  if (/^https?:\/\//i.test(value) && URL.canParse(value)) return value;
  throw new InvalidArgumentError('It must be a URL that begins with https://.');
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

const units: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** The time that an option gives, or how long ago it was. Throws CommandError. */
export function timeOption(option: string, text: string, { now }: Pick<Terminal, 'now'>): Timestamp {
  const [, number, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const at = number === undefined ? Date.parse(text) : now() - Number(number) * (units[unit] ?? 0) * 1000;
  if (!Number.isFinite(at))
    throw new CommandError(`${option} ${text} is no time, such as 2026-01-31T12:00:00Z or 24h.`, 2);
  return timestampFromMs(Math.max(0, at));
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
