import { ConfigError, processConfig } from '@tessera/process';
import { createLogger, sqlState, type Logger } from '@tessera/telemetry';
import { openDatabase, remedyFor, whenAvailable, type OpenedDatabase } from '@tessera/stores';
import { CommandError, type Terminal } from '../terminal.ts';
import { settings } from './settings.ts';

/** How long a command waits for a store or a service that is away. */
export const patienceMs = 120_000;

/** A log for people: warnings and worse, on standard error. */
export function terminalLog({ say }: Pick<Terminal, 'say'>): Logger {
  return createLogger({ service: 'tessera', level: 'warn', format: 'text' }, { write: say });
}

/** For a command that was given no database; `instead` is what else there is. */
export function missingDatabase(instead = ''): CommandError {
  return new CommandError(
    `DATABASE_URL is required. Set it, or DATABASE_URL_FILE to the path of a file that holds it.${instead}`,
  );
}

/** Lends the database that `DATABASE_URL` names. Throws CommandError. */
export async function withDatabase<T>(
  terminal: Terminal,
  work: (database: OpenedDatabase, log: Logger) => Promise<T>,
): Promise<T> {
  const config = orExplain(() => settings(processConfig, terminal.environment));
  if (config.DATABASE_URL === undefined) throw missingDatabase();
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

/**
 * Repeats work while a store or service is away, for a while. Throws CommandError when it stays away, and at once where
 * waiting does not help because a person has to change something first.
 */
export async function patiently<T>(work: () => Promise<T>, what: string, log: Logger): Promise<T> {
  const signal = AbortSignal.timeout(patienceMs);
  try {
    return await whenAvailable(async () => work().catch(endAtRemedy(what)), { log, signal, what });
  } catch (error) {
    if (!signal.aborted) throw error;
    throw new CommandError(
      `${what} could not be done within ${patienceMs / 1000} s: a store or service is away.`,
    );
  }
}

function endAtRemedy(what: string): (error: unknown) => never {
  return (error) => {
    const cause = error instanceof Error ? error.cause : undefined;
    if (lacksRight(error) || lacksRight(cause))
      throw new CommandError(`${what} cannot be done. ${reasonOf(error)}`);
    const remedy = remedyFor(cause);
    // Connections are given back by themselves, so that one may yet become free.
    if (remedy === undefined || sqlState(cause) === '53300') throw error;
    throw new CommandError(`${what} cannot be done. ${remedy}`);
  };
}

/** What is wrong, by the cause where the message itself is meant for clients, and what to change, where that is known. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  // A migration says by itself who lacks the right, and what gives it.
  if (lacksRight(error.cause)) return error.message;
  const cause = error.cause instanceof Error ? error.cause : error;
  const remedy = remedyFor(cause);
  return remedy === undefined ? cause.message : `${cause.message}. ${remedy}`;
}

function lacksRight(error: unknown): boolean {
  return sqlState(error) === '42501';
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
