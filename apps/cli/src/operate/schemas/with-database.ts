import { ConfigError, databaseOptions, processConfig } from '@tessera/process/settings';
import { createLogger, sqlState, type Logger } from '@tessera/telemetry';
import { formatForPeople } from '@tessera/telemetry/for-people';
import {
  openDatabase,
  remedyFor,
  whenAvailable,
  WrongEncodingError,
  type OpenedDatabase,
} from '@tessera/stores';
import { CommandError, type Terminal } from '../../terminal.ts';
import { orExplain, settings } from '../../settings.ts';

/** How long a command waits for an unavailable store or service. */
export const patienceMs = 120_000;

/** A log for people: warnings and worse, on standard error. */
export function terminalLog({ say }: Pick<Terminal, 'say'>): Logger {
  const format = formatForPeople({ colorize: false });
  return createLogger({ service: 'tessera', level: 'warn', format }, { write: say });
}

/** For checks whose result says what they would log. */
export const silentLog = terminalLog({ say: () => undefined });

/** Opens the database of `DATABASE_URL` for the duration of `work`. Throws CommandError. */
export async function withDatabase<T>(
  terminal: Terminal,
  work: (database: OpenedDatabase, log: Logger) => Promise<T>,
): Promise<T> {
  const config = orExplain(() => settings(processConfig, terminal.environment));
  if (config.DATABASE_URL === undefined) {
    throw new CommandError(
      'DATABASE_URL is required. Set it, or DATABASE_URL_FILE to the path of a file that holds it.',
    );
  }
  const { DATABASE_URL: url } = config;
  const log = terminalLog(terminal);
  const database = await openDatabase({
    ...orExplain(() => databaseOptions(config, url)),
    maxConnections: 2,
    applicationName: 'tessera-cli',
    log,
  });
  try {
    return await work(database, log);
  } finally {
    await database.close();
  }
}

/**
 * Repeats work for a while if a store or service is unavailable. Throws CommandError if it stays unavailable, and at
 * once if waiting does not help because a person has to change something first.
 */
export async function patiently<T>(work: () => Promise<T>, what: string, log: Logger): Promise<T> {
  const signal = AbortSignal.timeout(patienceMs);
  try {
    return await whenAvailable(async () => work().catch(endAtRemedy(what)), { log, signal, what });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CommandError(
      `${what} could not be done within ${patienceMs / 1000} s: a store or service is unavailable.`,
    );
  }
}

function endAtRemedy(what: string): (error: unknown) => never {
  return (error) => {
    const cause = error instanceof Error ? error.cause : undefined;
    if (error instanceof WrongEncodingError || lacksRight(error) || lacksRight(cause))
      throw new CommandError(`${what} cannot be done. ${reasonOf(error)}`);
    const remedy = remedyFor(cause);
    // Connections are released without our doing, so one may become free.
    if (remedy === undefined || sqlState(cause) === '53300') throw error;
    throw new CommandError(`${what} cannot be done. ${remedy}`);
  };
}

/** The problem, from the cause if the message itself is meant for clients, and the remedy if it is known. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  if (error instanceof ConfigError) return error.problems.join(' ');
  // The error of a migration already names the role and the missing privilege.
  if (lacksRight(error.cause)) return error.message;
  const cause = error.cause instanceof Error ? error.cause : error;
  const remedy = remedyFor(cause);
  return remedy === undefined ? cause.message : `${cause.message}. ${remedy}`;
}

function lacksRight(error: unknown): boolean {
  return sqlState(error) === '42501';
}
