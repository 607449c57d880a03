import type { z } from 'zod';
import { ConfigError, knownSettings, loadConfig } from '@tessera/process/settings';
import { CommandError } from './terminal.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Variables that only the command reads. They are valid in an environment shared with the processes. */
const ownNames = [
  'TESSERA_ACCESS_TOKEN',
  'TESSERA_API',
  'TESSERA_API_CA',
  'TESSERA_API_SERVER_NAME',
  'TESSERA_CLIENT_ASSERTION',
  'TESSERA_CLIENT_ID',
  'TESSERA_CLIENT_SECRET',
  'TESSERA_CONTEXT',
  'TESSERA_TENANT',
];

/** The environment as a process may have it: without those variables, and the files that have their values. */
export function withoutOwnNames(environment: Environment): Environment {
  const own = new Set(ownNames.flatMap((name) => [name, `${name}_FILE`]));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !own.has(name)));
}

/** Reads settings as a process does. Throws ConfigError. */
export function settings<S extends z.ZodObject>(config: S, environment: Environment): z.infer<S> {
  return loadConfig(config, environment, { known: [...knownSettings, ...ownNames] });
}

/** Turns configuration errors into messages for the terminal. */
export function orExplain<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(error.message);
    throw error;
  }
}
