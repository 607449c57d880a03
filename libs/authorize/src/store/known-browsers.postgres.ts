import type { Database } from '@tessera/stores';

/** A browser without a sign-in for this long is forgotten. */
export const knownBrowserLifetimeDays = 180;

/** More would not help a person; the one that was not used for longest goes. */
const browsersPerPerson = 10;

/** Whose browsers. */
interface PersonOfBrowsers {
  readonly tenantId: string;
  readonly userId: string;
  /**
   * Browsers of earlier sign-ins are not known: whoever took the account over may have one. Seconds since the Unix
   * epoch; 0 if it was never locked down.
   */
  readonly lockedDownAt: number;
}

/** Browsers in which a person has signed in, by the SHA-256 of the cookie's value. All times are the database's. */
export interface KnownBrowserStore {
  isKnown(tokenHash: Buffer, person: PersonOfBrowsers): Promise<boolean>;
  /** Whether this browser is known for a person, and whether they have signed in in any, also before a lockdown. */
  signedInBefore(
    tokenHash: Buffer | undefined,
    person: PersonOfBrowsers,
  ): Promise<{ readonly here: boolean; readonly anywhere: boolean }>;
  /** Removes up to `limit` forgotten browsers. Returns how many it removed. */
  purge(limit: number): Promise<number>;
}

/**
 * The queries with which the statement that opens a session remembers its browser. The arguments are parameters, as
 * `$1`. The row of the own browser comes first, and rows that another sign-in holds are left to it, so that sign-ins of
 * one person cannot deadlock.
 */
export const rememberBrowser = (tokenHash: string, tenantId: string, userId: string) => `
  remembered AS (
    INSERT INTO authorize.known_browser (tenant_id, user_id, token_hash, last_used_at)
    VALUES (${tenantId}, ${userId}, ${tokenHash}, now())
    ON CONFLICT (tenant_id, user_id, token_hash) DO UPDATE SET last_used_at = excluded.last_used_at
    RETURNING token_hash
  ), oldest AS MATERIALIZED (
    SELECT k.token_hash FROM remembered
    JOIN authorize.known_browser AS k ON k.token_hash <> remembered.token_hash
    WHERE k.tenant_id = ${tenantId} AND k.user_id = ${userId}
    ORDER BY k.last_used_at DESC OFFSET ${browsersPerPerson - 1}
  ), forgotten AS (
    DELETE FROM authorize.known_browser
    WHERE tenant_id = ${tenantId} AND user_id = ${userId} AND token_hash IN (
      SELECT token_hash FROM authorize.known_browser
      WHERE tenant_id = ${tenantId} AND user_id = ${userId} AND token_hash IN (SELECT token_hash FROM oldest)
      FOR UPDATE SKIP LOCKED
    )
  )`;

const living = `last_used_at > statement_timestamp() - interval '${knownBrowserLifetimeDays} days'`;

const sinceLockdown = 'last_used_at >= to_timestamp($4::float8)';

const find = `
  SELECT 1 FROM authorize.known_browser
  WHERE tenant_id = $1 AND user_id = $2 AND token_hash = $3 AND ${living} AND ${sinceLockdown}`;

const findAll = `
  SELECT coalesce(bool_or(token_hash = $3 AND ${sinceLockdown}), false) AS here, count(*) > 0 AS anywhere
  FROM authorize.known_browser WHERE tenant_id = $1 AND user_id = $2 AND ${living}`;

const purge = `
  DELETE FROM authorize.known_browser WHERE (tenant_id, user_id, token_hash) IN (
    SELECT tenant_id, user_id, token_hash FROM authorize.known_browser
    WHERE last_used_at <= statement_timestamp() - interval '${knownBrowserLifetimeDays} days'
    ORDER BY last_used_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )`;

/** Known browsers in Postgres or PGlite; the store of the sessions adds them together with the session. */
export function createKnownBrowserStore(database: Database): KnownBrowserStore {
  return {
    async isKnown(tokenHash, { tenantId, userId, lockedDownAt }) {
      const { rows } = await database.query({
        name: 'authorize.find_known_browser',
        text: find,
        values: [tenantId, userId, tokenHash, lockedDownAt],
      });
      return rows.length === 1;
    },

    async signedInBefore(tokenHash, { tenantId, userId, lockedDownAt }) {
      const { rows } = await database.query<{ here: boolean; anywhere: boolean }>({
        name: 'authorize.find_known_browsers_of_person',
        text: findAll,
        values: [tenantId, userId, tokenHash ?? null, lockedDownAt],
      });
      return { here: rows[0]?.here === true, anywhere: rows[0]?.anywhere === true };
    },

    async purge(limit) {
      const { rowCount } = await database.query({
        name: 'authorize.purge_known_browsers',
        text: purge,
        values: [limit],
      });
      return rowCount;
    },
  };
}
