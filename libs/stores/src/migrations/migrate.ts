import { createHash } from 'node:crypto';
import { readFile, readdir } from 'node:fs/promises';
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import { OAuthError, temporarilyUnavailable } from '@tessera/oauth';
import type { Database, MigrationSession, OpenedDatabase, Queryable } from '../database.ts';
import { baselineOf, type Baseline, type RecordedMigration } from './baseline.ts';
import { explainRights } from './migration-rights.ts';
import { isSchemaMissing } from '../store-errors.ts';
import { sqlState } from '@tessera/telemetry';

/** The schema that a service owns, and the directory of its `NNNN_name.sql` files. */
export interface Migrations {
  readonly schema: string;
  readonly directory: URL;
}

/** `apply`: what is missing is applied. `wait`: another process does that, with rights that this one may lack. */
export type MigrationMode = 'apply' | 'wait';

interface MigrationFile extends RecordedMigration {
  readonly sql: string;
  /** What it stands for, if it is a baseline. */
  readonly baseline: Baseline | undefined;
}

/** How long to wait while another process migrates, and how long one file may wait for locks of running statements. */
const turnSeconds = 120;
const turnTimeout = `${turnSeconds}s`;
const lockTimeout = '5s';
const turnPauseMs = 200;

/**
 * The first line of a file whose statements Postgres allows in no transaction, as CREATE INDEX CONCURRENTLY, which
 * stops no writer. They run one by one, and again from the first if one fails. Each ends its last line with a
 * semicolon.
 */
const outside = '-- Outside a transaction.\n';

/**
 * Brings a schema up to date: runs each file once, in order, in its own transaction, or in none; concurrent processes
 * are safe. A baseline runs in an empty schema alone; one that has all that it stands for goes on after it. A schema
 * that is ahead of these files is accepted, so that processes of the last release may run alongside the new ones.
 * @returns the files that this call applied, as `schema/name`
 * @throws Error when the database is not in UTF8, the schema is older than the baseline, an applied file was changed, a
 *   file fails (nothing of it remains) or the role lacks a right; OAuthError `temporarily_unavailable` when the database
 *   is unavailable, a lock was not granted in time, or a file is to be waited for.
 */
export async function migrate(
  database: Database,
  migrations: Migrations,
  log: Logger,
  mode: MigrationMode = 'apply',
): Promise<readonly string[]> {
  if (!isOpened(database))
    throw new Error('Migrations need the database as it was opened, not a wrapper of it.');
  const { schema } = migrations;
  if (!/^[a-z][a-z_]{0,62}$/.test(schema)) throw new Error(`${schema} is no name for a schema.`);
  const files = await readMigrations(migrations);
  const applied: string[] = [];
  await requireUtf8(database);
  try {
    const recorded = await readApplied(database, schema);
    for (const file of files) {
      if (isApplied(schema, file, recorded)) continue;
      if (mode === 'wait')
        throw temporarilyUnavailable(new Error(`Migration ${schema}/${file.name} is not applied yet.`));
      if (!(await applyOnce(database, schema, file))) continue;
      applied.push(`${schema}/${file.name}`);
      log.debug({ schema, migration: file.name }, 'migration applied');
    }
    return applied;
  } catch (error) {
    throw await explainRights(database, schema, mode, error);
  }
}

/**
 * The migrations that this version needs and the schema lacks, as `schema/name`; a schema that is ahead lacks none.
 * @throws OAuthError `temporarily_unavailable` when the database is unavailable.
 */
export async function pendingMigrations(
  database: Queryable,
  { schema, directory }: Migrations,
): Promise<string[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted();
  const applied = await readApplied(database, schema);
  return names.filter((name) => !applied.has(Number(name.slice(0, 4)))).map((name) => `${schema}/${name}`);
}

/** The database cannot hold every text. Nothing of Tessera's runs on it; waiting does not help. */
export class WrongEncodingError extends Error {}

/**
 * Postgres normalises texts in UTF8 alone, and a database in another encoding takes the migrations, but no record.
 * @throws WrongEncodingError that says how to create another database
 */
export async function requireUtf8(database: Queryable): Promise<void> {
  const { rows } = await database.query<{ encoding: string; name: string }>({
    name: 'migrate.encoding',
    text: 'SELECT getdatabaseencoding() AS encoding, quote_ident(current_database()) AS name',
  });
  const [found] = rows;
  if (found === undefined || found.encoding === 'UTF8') return;
  throw new WrongEncodingError(
    `The database ${found.name} has the encoding ${found.encoding}, and Tessera needs UTF8. No database changes its ` +
      `encoding: drop it, if it holds nothing else, and run CREATE DATABASE ${found.name} ENCODING 'UTF8' LOCALE 'C' ` +
      `TEMPLATE template0; or let DATABASE_URL name another one that was created so.`,
  );
}

function isOpened(database: Database): database is OpenedDatabase {
  return 'migration' in database;
}

async function readMigrations({ schema, directory }: Migrations): Promise<MigrationFile[]> {
  const names = (await readdir(directory)).filter((name) => name.endsWith('.sql')).toSorted();
  const files: MigrationFile[] = [];
  for (const name of names) {
    const version = Number(/^(\d{4})_[a-z0-9_]+\.sql$/.exec(name)?.[1]);
    if (Number.isNaN(version)) throw new Error(`Migration ${schema}/${name} is not named NNNN_name.sql.`);
    if (files.at(-1)?.version === version)
      throw new Error(`Two migrations of ${schema} have the number ${version}.`);
    const sql = (await readFile(new URL(name, directory), 'utf8')).replaceAll('\r\n', '\n');
    const baseline = baselineOf(sql);
    if (baseline !== undefined && (files.length > 0 || baseline.replaced.at(-1)?.version !== version))
      throw new Error(
        `The baseline ${schema}/${name} is not the first file, or names another last migration.`,
      );
    files.push({ version, name, sql, checksum: createHash('sha256').update(sql).digest('hex'), baseline });
  }
  return files;
}

/**
 * Whether a schema has what a file makes.
 * @throws Error when what it has on record was another text, or when it has a part of what a baseline stands for
 */
function isApplied(schema: string, file: MigrationFile, recorded: ReadonlyMap<number, string>): boolean {
  const { baseline } = file;
  if (baseline === undefined) return isRecorded(schema, file, recorded);
  if (recorded.size === 0) return false;
  const missing = baseline.replaced.find((one) => !isRecorded(schema, one, recorded));
  if (missing === undefined) return true;
  const { release } = baseline;
  throw new Error(
    `The schema ${schema} is older than version ${release}: it lacks the migration ${missing.name}. ` +
      `Bring it to version ${release} first: start that version, or run its tessera migrate.`,
  );
}

function isRecorded(schema: string, one: RecordedMigration, recorded: ReadonlyMap<number, string>): boolean {
  const checksum = recorded.get(one.version);
  if (checksum === undefined) return false;
  if (checksum === one.checksum) return true;
  throw new Error(
    `Migration ${schema}/${one.name} was changed after it had been applied. Restore the file and put the change into a new one.`,
  );
}

async function readApplied(database: Queryable, schema: string): Promise<Map<number, string>> {
  try {
    const { rows } = await database.query<Pick<RecordedMigration, 'version' | 'checksum'>>({
      name: `migrate.${schema}.applied`,
      text: `SELECT version, checksum FROM ${schema}.schema_migration`,
    });
    return new Map(rows.map((row) => [row.version, row.checksum]));
  } catch (error) {
    // Neither the schema nor its table is there before the first migration.
    if (isSchemaMissing(error) || (error instanceof OAuthError && isSchemaMissing(error.cause)))
      return new Map();
    throw error;
  }
}

/** Applies one file unless another process has done so meanwhile; false then. */
async function applyOnce(database: OpenedDatabase, schema: string, file: MigrationFile): Promise<boolean> {
  if (!file.sql.startsWith(outside)) return database.migration((session) => apply(session, schema, file));
  const until = Date.now() + turnSeconds * 1000;
  for (;;) {
    const applied = await database.outsideTransaction((session) => applyOutside(session, schema, file));
    if (applied !== 'busy') return applied;
    if (Date.now() > until)
      throw temporarilyUnavailable(new Error(`Another process still runs migration ${schema}/${file.name}.`));
    await pause(turnPauseMs);
  }
}

/** The turn is not waited for in a statement: the index that is being made would wait for that statement. */
async function applyOutside(
  session: MigrationSession,
  schema: string,
  file: MigrationFile,
): Promise<boolean | 'busy'> {
  const { rows } = await session.query<{ mine: boolean }>({
    name: 'migrate.turn_outside',
    text: 'SELECT pg_try_advisory_lock(hashtextextended($1, 0)) AS mine',
    values: [`tessera.migrate.${schema}.outside`],
  });
  if (rows[0]?.mine !== true) return 'busy';
  try {
    await session.run('SET statement_timeout = 0');
    await session.run(`SET lock_timeout = '${turnTimeout}'`);
    if (isApplied(schema, file, await readApplied(session, schema))) return false;
    const statements = file.sql.split(/;\n/).filter((text) => text.trim() !== '');
    for (const sql of statements) await runFile(session, schema, { ...file, sql });
    await recordFile(session, schema, file);
    return true;
  } finally {
    await session
      .run('RESET statement_timeout; RESET lock_timeout; SELECT pg_advisory_unlock_all()')
      .catch(() => undefined);
  }
}

async function apply(session: MigrationSession, schema: string, file: MigrationFile): Promise<boolean> {
  await session.run(`SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = '${turnTimeout}'`);
  await session.run(`SELECT pg_advisory_xact_lock(hashtextextended('tessera.migrate.${schema}', 0))`);
  await ensureTable(session, schema);
  if (isApplied(schema, file, await readApplied(session, schema))) return false;
  await session.run(`SET LOCAL lock_timeout = '${lockTimeout}'`);
  await runFile(session, schema, file);
  await recordFile(session, schema, file);
  return true;
}

async function recordFile(session: MigrationSession, schema: string, file: MigrationFile): Promise<void> {
  for (const { version, name, checksum } of file.baseline?.replaced ?? [file])
    await session.query({
      name: `migrate.${schema}.record`,
      text: `INSERT INTO ${schema}.schema_migration (version, name, checksum) VALUES ($1, $2, $3)`,
      values: [version, name, checksum],
    });
}

/** Asks before it creates: a role that may not create schemas can still use one that was made for it. */
async function ensureTable(session: MigrationSession, schema: string): Promise<void> {
  const { rows } = await session.query<{ schema: boolean; table: boolean }>({
    name: 'migrate.exists',
    text: `SELECT to_regnamespace($1) IS NOT NULL AS schema, to_regclass($1 || '.schema_migration') IS NOT NULL AS table`,
    values: [schema],
  });
  if (rows[0]?.schema !== true) await session.run(`CREATE SCHEMA IF NOT EXISTS ${schema}`);
  if (rows[0]?.table === true) return;
  await session.run(
    `CREATE TABLE IF NOT EXISTS ${schema}.schema_migration (
       version integer PRIMARY KEY,
       name text NOT NULL,
       checksum text NOT NULL,
       applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
     )`,
  );
}

async function runFile(session: MigrationSession, schema: string, file: MigrationFile): Promise<void> {
  try {
    await session.run(file.sql);
  } catch (error) {
    const state = sqlState(error);
    if (error instanceof OAuthError || state === undefined || state === '55P03' || state.startsWith('40'))
      throw error;
    const reason = error instanceof Error ? error.message : 'unknown';
    throw new Error(`Migration ${schema}/${file.name} failed and left nothing behind: ${reason}`, {
      cause: error,
    });
  }
}
