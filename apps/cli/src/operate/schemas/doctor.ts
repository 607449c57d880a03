import { directoryConfig, requirePepper } from '@tessera/directory';
import { systemClock, systemRandom, type Secret } from '@tessera/kit';
import { keysConfig, requireKeyEncryptionKey } from '@tessera/keys';
import { findRefusedHashes } from '@tessera/people';
import {
  migrate,
  openRedis,
  probeRedis,
  tryRights,
  type Database,
  type Migrations,
  type RedisHandle,
} from '@tessera/stores';
import type { z } from 'zod';
import {
  ConfigError,
  databaseOptions,
  processConfig,
  redisOptions,
  requireSameTime,
  type ProcessConfig,
} from '@tessera/process';
import { CommandError, type Terminal } from '../../terminal.ts';
import { orExplain, reasonOf, silentLog, terminalLog, withDatabase } from './with-database.ts';
import { configurationProblems, processes, settings } from '../../settings.ts';

interface Finding {
  readonly what: string;
  /** Undefined if the check passed. */
  readonly problem: string | undefined;
}

/**
 * Checks everything a process depends on: its settings, the database with its schemas and its clock, Redis with its eviction
 * policy. Writes and reads in both as the process does, and leaves nothing. Throws CommandError if a check fails.
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
  const { schemas, keys } = processes[process] ?? { schemas: [], keys: [] };
  if (config.DATABASE_URL !== undefined)
    await lookAtDatabase(look, schemas, config, config.DATABASE_URL, terminal);
  if (config.REDIS_URL !== undefined) await lookAtRedis(look, keys, config, config.REDIS_URL, terminal);
  const bad = findings.filter(({ problem }) => problem !== undefined).length;
  if (bad > 0) throw new CommandError(`${bad} of ${findings.length} checks failed.`);
}

/** Prints the result of a check; resolves with false if it failed. */
type Look = (what: string, check: () => Promise<void>) => Promise<boolean>;

async function lookAtDatabase(
  look: Look,
  schemas: readonly Migrations[],
  config: ProcessConfig,
  url: Secret,
  terminal: Terminal,
): Promise<void> {
  try {
    databaseOptions(config, url);
  } catch (error) {
    await look('database', async () => Promise.reject(error));
    return;
  }
  await withDatabase(terminal, async (database, log) => {
    const answers = await look('database', async () => {
      await database.query({ name: 'doctor.answer', text: 'SELECT 1 AS answer' });
    });
    if (!answers) return;
    await look('clock of the database', () => requireSameTime(database, terminal));
    for (const migrations of schemas) {
      const { schema } = migrations;
      const isThere = await look(`schema ${schema}`, async () => migrate(database, migrations, log, 'wait'));
      if (!isThere) continue;
      const isAllowed = await look(`rights in the schema ${schema}`, async () => tryRights(database, schema));
      if (isAllowed && schema === 'directory') {
        await lookAtPepper(look, database, terminal);
        await lookAtHashes(look, database, terminal);
      }
      if (isAllowed && schema === 'keys') await lookAtKek(look, database, terminal);
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

/** Whether the stored signing keys can be decrypted. A missing or malformed setting is already a problem of the settings. */
async function lookAtKek(look: Look, database: Database, terminal: Terminal): Promise<void> {
  const config = settingsIfValid(keysConfig, terminal);
  if (config === undefined) return;
  const runtime = { database, clock: systemClock, random: systemRandom, log: silentLog };
  await look('TESSERA_KEYS_KEK', () => requireKeyEncryptionKey(config, runtime));
}

/** Whether the stored secrets of clients have this pepper. */
async function lookAtPepper(look: Look, database: Database, terminal: Terminal): Promise<void> {
  const config = settingsIfValid(directoryConfig, terminal);
  if (config === undefined) return;
  await look('TESSERA_DIRECTORY_PEPPER', () => requirePepper(config, { database, log: silentLog }));
}

/** Undefined if a process could not start with them. */
function settingsIfValid<S extends z.ZodObject>(config: S, terminal: Terminal): z.infer<S> | undefined {
  try {
    return settings(config, terminal.environment);
  } catch (error) {
    if (error instanceof ConfigError) return undefined;
    throw error;
  }
}

async function lookAtRedis(
  look: Look,
  keys: readonly string[],
  config: ProcessConfig,
  url: Secret,
  terminal: Terminal,
): Promise<void> {
  const warnings: string[] = [];
  const log = terminalLog({ say: (line) => void warnings.push(line) });
  let redis: RedisHandle | undefined;
  const isWell = await look('Redis, its database and its eviction policy', async () => {
    redis = await openRedis({ ...redisOptions(config, url), log });
    await redis.call('PING');
  });
  // A failed check has already printed its reason.
  if (isWell) for (const warning of warnings) terminal.say(warning);
  if (isWell && redis !== undefined) {
    const opened = redis;
    for (const service of keys)
      await look(`keys ${config.TESSERA_REDIS_KEY_PREFIX}${service}:* in Redis`, async () =>
        probeRedis(opened, service),
      );
  }
  await redis?.close();
}
