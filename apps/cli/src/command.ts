import type { ParseArgsOptionsConfig } from 'node:util';
import type { Terminal } from './terminal.ts';

/** One option, as `--name`, and where it may come from instead. */
export interface Option {
  readonly type: 'string' | 'boolean';
  /** One line of help. */
  readonly help: string;
  /** Name of the environment variable that stands in for it; `<name>_FILE` names a file that holds the value. */
  readonly environment?: string;
  readonly default?: string;
  readonly required?: boolean;
  /** One letter that may stand for the name. */
  readonly short?: string;
}

/** The values of a command's options. */
export interface Values {
  text(name: string): string | undefined;
  /** Throws UsageError when there is none. */
  required(name: string): string;
  flag(name: string): boolean;
}

/** One row of the table of commands. */
export interface Command {
  /** The words after `tessera`. */
  readonly words: readonly string[];
  readonly summary: string;
  /** What else its help says: whole sentences, in lines of their own. */
  readonly details?: string;
  readonly options: Readonly<Record<string, Option>>;
  /** The exit code when it fails; 2 where 1 says something else. */
  readonly failure?: 2;
  /** Answers the exit code where that is not 0. */
  run(values: Values, terminal: Terminal): Promise<void | 1>;
}

/** The options in the form of `parseArgs`. */
export function parseConfig(command: Command): ParseArgsOptionsConfig {
  const entries = Object.entries(command.options).map(
    ([name, { type, short }]) => [name, { type, ...(short === undefined ? {} : { short }) }] as const,
  );
  return { ...Object.fromEntries(entries), help: { type: 'boolean', short: 'h' } };
}
