import {
  ConfigError,
  createLogger,
  openDatabase,
  processConfig,
  whenAvailable,
  type Logger,
  type OpenedDatabase,
} from '@tessera/kit';
import { CommandError, type Terminal } from '../terminal.ts';
import { settings } from './settings.ts';

/** How long a command waits for a store or a service that is away. */
export const patienceMs = 120_000;

/** A log for people: warnings and worse, on standard error. */
export function terminalLog({ say }: Pick<Terminal, 'say'>): Logger {
  return createLogger({ service: 'tessera', level: 'warn' }, { write: say });
}

/** Lends the database that `DATABASE_URL` names. Throws CommandError. */
export async function withDatabase<T>(
  terminal: Terminal,
  work: (database: OpenedDatabase, log: Logger) => Promise<T>,
): Promise<T> {
  const config = orExplain(() => settings(processConfig, terminal.environment));
  if (config.DATABASE_URL === undefined) throw new CommandError('DATABASE_URL is required.');
  const log = terminalLog(terminal);
  const database = await openDatabase({
    url: config.DATABASE_URL,
    maxConnections: 2,
    acquireTimeoutMs: config.TESSERA_DATABASE_ACQUIRE_TIMEOUT * 1000,
    statementTimeoutMs: config.TESSERA_DATABASE_STATEMENT_TIMEOUT * 1000,
    applicationName: 'tessera-cli',
    log,
  });
  try {
    return await work(database, log);
  } finally {
    await database.close();
  }
}

/** Repeats work while a store or service is away, for a while. Throws CommandError when it stays away. */
export async function patiently<T>(work: () => Promise<T>, what: string, log: Logger): Promise<T> {
  const signal = AbortSignal.timeout(patienceMs);
  try {
    return await whenAvailable(work, { log, signal, what });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CommandError(
      `${what} could not be done within ${patienceMs / 1000} s: a store or service is away.`,
    );
  }
}

/** Turns problems of the configuration into what the person at the terminal reads. */
export function orExplain<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(error.message);
    throw error;
  }
}
