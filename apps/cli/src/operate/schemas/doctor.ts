import { directoryConfig, requirePepper } from '@tessera/directory';
import { systemClock, systemRandom, type Secret } from '@tessera/kit';
import { keysConfig, requireKeyEncryptionKey } from '@tessera/keys';
import { findRefusedHashes } from '@tessera/people';
import {
  migrate,
  openRedis,
  probeRedis,
  requireUtf8,
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
import { reasonOf, silentLog, terminalLog, withDatabase } from './with-database.ts';
import { configurationProblems, processes } from '../../processes.ts';
import { orExplain, settings } from '../../settings.ts';

/**
 * Checks everything a process depends on: its settings, the database with its schemas and its clock, Redis with its
 * eviction policy. Writes and reads in both as the process does, and leaves nothing. Throws CommandError if a check
 * fails.
 */
export async function examine(process: string, terminal: Terminal): Promise<void> {
  const counts = { all: 0, bad: 0 };
  const lookAtEach: LookAtEach = async (what, names, check) => {
    const good: string[] = [];
    for (const name of names) {
      counts.all += 1;
      const problem = await check(name).then(
        () => undefined,
        (error: unknown) => reasonOf(error),
      );
      if (problem === undefined) good.push(name);
      else {
        counts.bad += 1;
        terminal.say(`BAD   ${`${what} ${name}`.trim()}: ${problem}\n`);
      }
    }
    if (good.length > 0) terminal.say(`good  ${`${what} ${good.join(', ')}`.trim()}\n`);
    return good;
  };
  const look: Look = async (what, check) => (await lookAtEach(what, [''], check)).length > 0;
  await look(`settings of ${process}`, async () => {
    const problems = configurationProblems(process, terminal.environment);
    if (problems.length > 0) throw new CommandError(problems.join(' '));
  });
  const config = orExplain(() => settings(processConfig, terminal.environment));
  const { schemas, keys } = processes[process] ?? { schemas: [], keys: [] };
  if (config.DATABASE_URL !== undefined)
    await lookAtDatabase({ look, lookAtEach }, schemas, config, config.DATABASE_URL, terminal);
  if (config.REDIS_URL !== undefined)
    await lookAtRedis({ look, lookAtEach }, keys, config, config.REDIS_URL, terminal);
  if (counts.bad > 0) throw new CommandError(`${counts.bad} of ${counts.all} checks failed.`);
}

/** Prints the result of a check; resolves with false if it failed. */
type Look = (what: string, check: () => Promise<void>) => Promise<boolean>;

/**
 * The same check of several: prints one line for those that passed, and one for each that failed. Resolves with the
 * former.
 */
type LookAtEach = (
  what: string,
  names: readonly string[],
  check: (name: string) => Promise<void>,
) => Promise<readonly string[]>;

interface Looks {
  readonly look: Look;
  readonly lookAtEach: LookAtEach;
}

async function lookAtDatabase(
  { look, lookAtEach }: Looks,
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
    if (!(await look('encoding of the database', () => requireUtf8(database)))) return;
    await look('clock of the database', () => requireSameTime(database, terminal));
    const bySchema = new Map(schemas.map((migrations) => [migrations.schema, migrations]));
    const there = await lookAtEach('schema', [...bySchema.keys()], async (schema) => {
      const migrations = bySchema.get(schema);
      if (migrations !== undefined) await migrate(database, migrations, log, 'wait');
    });
    const allowed = await lookAtEach('rights in the schema', there, async (schema) =>
      tryRights(database, schema),
    );
    if (allowed.includes('keys')) await lookAtKek(look, database, terminal);
    if (allowed.includes('directory')) {
      await lookAtPepper(look, database, terminal);
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

/**
 * Whether the stored signing keys can be decrypted. A missing or malformed setting is already a problem of the
 * settings.
 */
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
  { look, lookAtEach }: Looks,
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
    const patterns = new Map(
      keys.map((service) => [`${config.TESSERA_REDIS_KEY_PREFIX}${service}:*`, service]),
    );
    await lookAtEach('keys in Redis', [...patterns.keys()], async (pattern) =>
      probeRedis(opened, patterns.get(pattern) ?? ''),
    );
  }
  await redis?.close();
}
