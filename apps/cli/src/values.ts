import { readFileSync } from 'node:fs';
import type { Command, Values } from './command.ts';
import { CommandError, UsageError, type Terminal } from './terminal.ts';

/** The values of the options: the command line first, then environment, file, default. */
export function valuesOf(
  { options }: Command,
  given: Readonly<Record<string, unknown>>,
  { environment }: Pick<Terminal, 'environment'>,
): Values {
  const text = (name: string): string | undefined => {
    const option = options[name];
    const value = given[name];
    if (typeof value === 'string') return value;
    return (option?.environment && fromEnvironment(option.environment, environment)) || option?.default;
  };
  const values: Values = {
    text,
    required(name) {
      const value = text(name);
      if (value !== undefined && value !== '') return value;
      const variable = options[name]?.environment;
      throw new UsageError(`--${name}${variable === undefined ? '' : ` (or ${variable})`} is required.`);
    },
    flag: (name) => given[name] === true,
  };
  for (const [name, option] of Object.entries(options)) if (option.required === true) values.required(name);
  return values;
}

function fromEnvironment(name: string, environment: Terminal['environment']): string | undefined {
  const value = environment[name];
  if (value !== undefined && value !== '') return value;
  const file = environment[`${name}_FILE`];
  if (file === undefined || file === '') return undefined;
  try {
    // As processes read it, so that both have the same value.
    return readFileSync(file, 'utf8').replace(/\r?\n$/, '');
  } catch {
    throw new CommandError(`The file that ${name}_FILE names cannot be read.`);
  }
}
