import { hash } from 'node:crypto';
import type { Queryable } from '@tessera/stores';

/** Values that count once: Postgres says which of any number of callers came first. */
export interface UsedValues {
  /**
   * True for exactly one call with these parts, until `lifetimeSeconds` after it. A value must not be valid longer than
   * that.
   */
  use(parts: readonly string[], lifetimeSeconds: number): Promise<boolean>;
  /** Removes up to `limit` that have expired. Returns how many it removed. */
  purge(limit: number): Promise<number>;
}

const use = `
  INSERT INTO authorize.used_value (digest, expires_at)
  VALUES ($1, clock_timestamp() + make_interval(secs => $2))
  ON CONFLICT (digest) DO NOTHING`;

const purge = `
  DELETE FROM authorize.used_value WHERE digest IN (
    SELECT digest FROM authorize.used_value WHERE expires_at < statement_timestamp()
    ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
  )`;

/** Used values in Postgres or PGlite. */
export function createUsedValues(database: Queryable): UsedValues {
  return {
    async use(parts, lifetimeSeconds) {
      const digest = hash('sha256', JSON.stringify(parts), 'buffer');
      const { rowCount } = await database.query({
        name: 'authorize.use_value',
        text: use,
        values: [digest, lifetimeSeconds],
      });
      return rowCount === 1;
    },

    async purge(limit) {
      const { rowCount } = await database.query({
        name: 'authorize.purge_used_values',
        text: purge,
        values: [limit],
      });
      return rowCount;
    },
  };
}
