import type { Queryable } from '@tessera/stores';

interface OfHolder {
  readonly tenantId: string;
  readonly holder: string;
  /** A keyed digest: who reads the table could try out values that are short. */
  readonly digest: Buffer;
}

/**
 * Values of one kind that are short enough to be guessed. Each works once, until it expires, and within `mostTries`,
 * which Postgres counts. A holder has one at a time.
 */
export interface CountedValues {
  /** Keeps a value in place of an earlier one of its holder, with no tries yet. */
  put(
    tx: Queryable,
    value: OfHolder & { readonly kept: string; readonly lifetimeSeconds: number },
  ): Promise<void>;
  /** Puts another value in place of one that is not used yet: it keeps the time and the tries that were made. */
  replace(tx: Queryable, value: OfHolder & { readonly kept: string }): Promise<void>;
  /** Tries a value: for exactly one caller with the right one what was kept with it, for all others undefined. */
  use(database: Queryable, value: OfHolder): Promise<string | undefined>;
}

/** Of one value, the right one included. */
export const mostTries = 5;

/** @param kind its name in the table */
export function countedValues(kind: string): CountedValues {
  return {
    async put(tx, { tenantId, holder, digest, kept, lifetimeSeconds }) {
      await tx.query({
        name: 'directory.put_one_time_value',
        text: `INSERT INTO directory.one_time_value (tenant_id, kind, holder, digest, kept, expires_at)
               VALUES ($1, $2, $3, $4, $5, clock_timestamp() + make_interval(secs => $6::float8))
               ON CONFLICT (tenant_id, kind, holder) DO UPDATE
                  SET digest = excluded.digest, kept = excluded.kept, expires_at = excluded.expires_at, tries = 0, used = false`,
        values: [tenantId, kind, holder, digest, kept, lifetimeSeconds],
      });
    },

    async replace(tx, { tenantId, holder, digest, kept }) {
      await tx.query({
        name: 'directory.replace_one_time_value',
        text: `UPDATE directory.one_time_value SET digest = $4, kept = $5
                WHERE tenant_id = $1 AND kind = $2 AND holder = $3 AND NOT used`,
        values: [tenantId, kind, holder, digest, kept],
      });
    },

    async use(database, { tenantId, holder, digest }) {
      const { rows } = await database.query<{ used: boolean; kept: string }>({
        name: 'directory.use_one_time_value',
        text: `UPDATE directory.one_time_value SET tries = tries + 1, used = (digest = $4)
                WHERE tenant_id = $1 AND kind = $2 AND holder = $3 AND NOT used AND tries < $5
                  AND expires_at > clock_timestamp()
               RETURNING used, kept`,
        values: [tenantId, kind, holder, digest, mostTries],
      });
      const [row] = rows;
      return row?.used === true ? row.kept : undefined;
    },
  };
}
