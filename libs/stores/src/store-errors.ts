/** What an error of a store means for the caller. Codes are those of PostgreSQL, appendix A. */

import { sqlState } from '@tessera/telemetry';
import { redisRemedy } from './redis/redis-errors.ts';

/** Serialization failure and deadlock: the same work may succeed at once. */
export function isConflict(error: unknown): boolean {
  const code = sqlState(error);
  return code === '40001' || code === '40P01';
}

const unavailableCodes = new Set([
  '25006', // read-only: a replica, or the primary of yesterday
  '25P03', // idle in transaction for too long
  '3D000', // the database is not there (yet)
  '55P03', // a lock was not granted in time
  '57014', // cancelled, as by statement_timeout
  '57P01', // shut down by an administrator
  '57P02', // crashed
  '57P03', // starting or stopping
  '57P05', // idle session ended
]);
const unavailableClasses = new Set(['08', '28', '53', '58']);

/** The store could not do its work now, whatever was asked. */
export function isUnavailable(error: unknown): boolean {
  const code = sqlState(error);
  if (code === undefined) return isConnectionTrouble(error);
  return isSchemaMissing(error) || unavailableCodes.has(code) || unavailableClasses.has(code.slice(0, 2));
}

/** A schema or table is not there: the migrations were not applied to this database, or not yet. */
export function isSchemaMissing(error: unknown): boolean {
  const code = sqlState(error);
  return code === '3F000' || code === '42P01';
}

/** No connection became free in time, which says nothing of the server. */
export function isPoolExhausted(error: unknown): boolean {
  return error instanceof Error && error.message === 'timeout exceeded when trying to connect';
}

/** The session cannot be used for anything further. */
export function endsSession(error: unknown): boolean {
  const code = sqlState(error);
  if (code === undefined) return isConnectionTrouble(error);
  return code === '25006' || code === '25P03' || /^(08|57P|58)/.test(code) || isStalePlan(error);
}

/**
 * A session lacks a statement that was prepared in it, or has one of another's: a pooler lends sessions for a
 * transaction.
 */
function isMixedUp(code: string | undefined): boolean {
  return code === '26000' || code === '42P05';
}

/** A prepared statement that no longer fits, after a migration or behind a pooler. Another session prepares anew. */
export function isStalePlan(error: unknown): boolean {
  const code = sqlState(error);
  if (isMixedUp(code)) return true;
  return code === '0A000' && error instanceof Error && error.message.includes('cached plan must not change');
}

const pooler =
  'A pooler between Tessera and Postgres mixes up prepared statements. Use PgBouncer 1.21 or later with max_prepared_statements above 0, or pool_mode = session.';

const remedies: Readonly<Record<string, string>> = {
  '26000': pooler,
  '42P05': pooler,
  '28000':
    'Postgres does not let the role of DATABASE_URL in. Correct DATABASE_URL, pg_hba.conf, or the role.',
  '28P01':
    'Postgres refuses the password of DATABASE_URL. Correct DATABASE_URL, or the password of the role.',
  '3D000': 'The database that DATABASE_URL names does not exist. Create it, or correct DATABASE_URL.',
  '42501':
    'The role of DATABASE_URL lacks a right. Grant it what deploy/postgres/roles.sql grants, or use another role.',
  '53300': 'Postgres takes no more connections. Raise max_connections, or lower TESSERA_DATABASE_POOL_SIZE.',
};

/** What a person has to change before the store can be used; undefined where waiting helps. */
export function remedyFor(error: unknown): string | undefined {
  return remedies[sqlState(error) ?? ''] ?? redisRemedy(error);
}

const driverMessages =
  /timeout exceeded when trying to connect|terminated|Query read timeout|not queryable|Connection (ended|error)|timeout expired|server does not support SSL|connection is closed|after calling end/i;

/** Trouble below SQL: sockets, TLS, name resolution, and the driver's own time-outs, which carry no code. */
function isConnectionTrouble(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof AggregateError) return error.errors.some(isConnectionTrouble);
  if (
    'syscall' in error ||
    ('code' in error && /^(E[A-Z]|ERR_TLS|ERR_SSL|CERT_|DEPTH_|SELF_|UNABLE_)/.test(String(error.code)))
  )
    return true;
  return driverMessages.test(error.message);
}
