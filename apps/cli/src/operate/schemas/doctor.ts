import { findRefusedHashes } from '@tessera/directory';
import { migrate, openRedis, type Database } from '@tessera/stores';
import { processConfig, redisOptions, requireSameTime } from '@tessera/process';
import { CommandError, type Terminal } from '../../terminal.ts';
import { orExplain, reasonOf, terminalLog, withDatabase } from './with-database.ts';
import { configurationProblems, schemas, settings } from '../settings.ts';

interface Finding {
  readonly what: string;
  /** Undefined if the check passed. */
  readonly problem: string | undefined;
}

/**
 * Checks everything a process depends on: its settings, the database with its schemas and its clock, Redis with its eviction
 * policy. Changes nothing. Throws CommandError if a check fails.
 */
export async function examine(process: string, terminal: Terminal): Promise<void> {
  const findings: Finding[] = [];
  const look: Look = async (what, check) => {
    const problem = await check().then(
      () => undefined,
      (error: unknown) => reasonOf(error),
    );
    findings.push({ what, problem });
    terminal.say(
      `${problem === undefined ? 'good' : 'BAD '}  ${what}${problem === undefined ? '' : `: ${problem}`}\n`,
    );
    return problem === undefined;
  };
  await look(`settings of ${process}`, async () => {
    const problems = configurationProblems(process, terminal.environment);
    if (problems.length > 0) throw new CommandError(problems.join(' '));
  });
  const config = orExplain(() => settings(processConfig, terminal.environment));
  if (config.DATABASE_URL !== undefined) await lookAtDatabase(look, terminal, process);
  if (config.REDIS_URL !== undefined) {
    const { REDIS_URL: url } = config;
    const warnings: string[] = [];
    const log = terminalLog({ say: (line) => void warnings.push(line) });
    const isWell = await look('Redis and its eviction policy', async () => {
      const redis = await openRedis({ ...redisOptions(config, url), log });
      try {
        await redis.call('PING');
      } finally {
        await redis.close();
      }
    });
    // A failed check has already printed its reason.
    if (isWell) for (const warning of warnings) terminal.say(warning);
  }
  const bad = findings.filter(({ problem }) => problem !== undefined).length;
  if (bad > 0) throw new CommandError(`${bad} of ${findings.length} checks failed.`);
}

/** Prints the result of a check; resolves with false if it failed. */
type Look = (what: string, check: () => Promise<void>) => Promise<boolean>;

async function lookAtDatabase(look: Look, terminal: Terminal, process: string): Promise<void> {
  await withDatabase(terminal, async (database, log) => {
    const answers = await look('database', async () => {
      await database.query({ name: 'doctor.answer', text: 'SELECT 1 AS answer' });
    });
    if (!answers) return;
    await look('clock of the database', () => requireSameTime(database, terminal));
    for (const migrations of schemas) {
      const isWell = await look(`schema ${migrations.schema}`, async () =>
        migrate(database, migrations, log, 'wait'),
      );
      // The roles of other processes may not read people.
      if (isWell && migrations.schema === 'directory' && ['standalone', 'directory'].includes(process))
        await lookAtHashes(look, database, terminal);
    }
  });
}

/** Says who cannot sign in until they get another password. The processes can do without them, so no check fails. */
async function lookAtHashes(look: Look, database: Database, terminal: Terminal): Promise<void> {
  await look('stored password hashes', async () => {
    const { count, people } = await findRefusedHashes(database);
    if (count === 0) return;
    const named = people.map(({ tenantId, userId }) => `${userId} of ${tenantId}`).join(', ');
    terminal.say(
      `${count} stored password hashes cost more than is accepted and are not compared. ` +
        `Reset the passwords (\`tessera user reset-link\`): ${named}${count > people.length ? ', ...' : ''}\n`,
    );
  });
}
