import { createHash } from 'node:crypto';
import type { Queryable } from '@tessera/stores';

/** A value of a tenant, and whose it is: by the columns that name its holder. */
interface OfHolder<Holder extends string> {
  readonly tenantId: string;
  readonly holder: Readonly<Record<Holder, string>>;
}

/** Values of one kind. Each works once and until it expires; a holder has one at a time. Only digests are stored. */
export interface OneTimeValues<Holder extends string, Kept extends string> {
  /**
   * Keeps a value in place of an earlier one of its holder. Returns when it expires, in seconds since the Unix epoch.
   */
  put(
    tx: Queryable,
    value: OfHolder<Holder> & {
      /** SHA-256 of the value, or a keyed digest of one that could be guessed. */
      readonly digest: Buffer;
      readonly kept: Readonly<Record<Kept, string>>;
      readonly lifetimeSeconds: number;
    },
  ): Promise<number>;
  /** Whose a value is, and what was kept with it; undefined for one that is unknown, used, replaced or expired. */
  find(
    database: Queryable,
    digest: Buffer,
  ): Promise<(OfHolder<Holder> & { readonly kept: Readonly<Record<Kept, string>> }) | undefined>;
  /** Uses a value of a holder up: true for exactly one of any number of callers. */
  take(tx: Queryable, value: OfHolder<Holder> & { readonly digest: Buffer }): Promise<boolean>;
  /** Ends the value of a holder, if there is one. */
  end(tx: Queryable, of: OfHolder<Holder>): Promise<void>;
}

/** Where values of a kind are. */
interface Kind<Holder extends string, Kept extends string> {
  /** In the schema `directory`. */
  readonly table: string;
  readonly holder: readonly Holder[];
  readonly kept: readonly Kept[];
}

export const passwordLinks = valuesOf({
  table: 'password_link',
  holder: ['user_id', 'purpose'],
  kept: ['valid_from', 'mailed'],
});
export const emailLinks = valuesOf({ table: 'email_link', holder: ['user_id'], kept: ['email'] });
export const registrationLinks = valuesOf({
  table: 'registration_link',
  holder: ['identifier'],
  kept: ['email'],
});

/**
 * Which rows of a table are of no more use. What a visit asked for is remembered once it was answered: no visit lasts
 * for two days.
 */
const purged = [
  { table: 'password_link', key: 'tenant_id, digest', time: 'expires_at', after: '0' },
  { table: 'email_link', key: 'tenant_id, digest', time: 'expires_at', after: '0' },
  { table: 'registration_link', key: 'tenant_id, digest', time: 'expires_at', after: '0' },
  { table: 'used_challenge', key: 'tenant_id, digest', time: 'used_at', after: '2 days' },
  { table: 'one_time_value', key: 'tenant_id, kind, holder', time: 'expires_at', after: '0' },
];

function valuesOf<Holder extends string, Kept extends string>({
  table,
  holder: names,
  kept,
}: Kind<Holder, Kept>): OneTimeValues<Holder, Kept> {
  const columns = ['tenant_id', ...names, 'digest', ...kept];
  const parameters = columns.map((_, at) => `$${at + 1}`);
  const replaced = ['digest', ...kept, 'expires_at'].map((column) => `${column} = excluded.${column}`);
  const isHolder = names.map((column, at) => `${column} = $${at + 3}`).join(' AND ');
  const inOrder = <Name extends string>(of: Readonly<Record<Name, string>>, order: readonly Name[]) =>
    order.map((name) => of[name]);

  return {
    async put(tx, { tenantId, holder, digest, kept: values, lifetimeSeconds }) {
      const { rows } = await tx.query<{ expires_at: number }>({
        name: `directory.put_${table}`,
        text: `INSERT INTO directory.${table} (${columns.join(', ')}, expires_at)
               VALUES (${parameters.join(', ')}, clock_timestamp() + make_interval(secs => $${columns.length + 1}::float8))
               ON CONFLICT (tenant_id, ${names.join(', ')}) DO UPDATE SET ${replaced.join(', ')}
               RETURNING floor(extract(epoch FROM expires_at))::float8 AS expires_at`,
        values: [tenantId, ...inOrder(holder, names), digest, ...inOrder(values, kept), lifetimeSeconds],
      });
      const [row] = rows;
      if (row === undefined) throw new Error(`a row of ${table} was not written`);
      return row.expires_at;
    },

    async find(database, digest) {
      const { rows } = await database.query<Record<'tenant_id' | Holder | Kept, string>>({
        name: `directory.find_${table}`,
        text: `SELECT ${['tenant_id', ...names, ...kept].map((column) => `${column}::text`).join(', ')}
                 FROM directory.${table} WHERE digest = $1 AND expires_at > clock_timestamp()`,
        values: [digest],
      });
      const [row] = rows;
      return row && { tenantId: row.tenant_id, holder: row, kept: row };
    },

    async take(tx, { tenantId, holder, digest }) {
      const { rowCount } = await tx.query({
        name: `directory.take_${table}`,
        text: `DELETE FROM directory.${table}
                WHERE tenant_id = $1 AND digest = $2 AND ${isHolder} AND expires_at > clock_timestamp()`,
        values: [tenantId, digest, ...inOrder(holder, names)],
      });
      return rowCount === 1;
    },

    async end(tx, { tenantId, holder }) {
      const whose = names.map((column, at) => `${column} = $${at + 2}`).join(' AND ');
      await tx.query({
        name: `directory.end_${table}`,
        text: `DELETE FROM directory.${table} WHERE tenant_id = $1 AND ${whose}`,
        values: [tenantId, ...inOrder(holder, names)],
      });
    },
  };
}

/** Removes up to `limit` rows of each kind that are of no more use. Returns how many of all. */
export async function purgeOneTimeValues(database: Queryable, limit: number): Promise<number> {
  let removed = 0;
  for (const { table, key, time, after } of purged) {
    const { rowCount } = await database.query({
      name: `directory.purge_${table}`,
      text: `DELETE FROM directory.${table} WHERE (${key}) IN (
               SELECT ${key} FROM directory.${table}
                WHERE ${time} <= statement_timestamp() - interval '${after}' ORDER BY ${time} LIMIT $1 FOR UPDATE SKIP LOCKED)`,
      values: [limit],
    });
    removed += rowCount;
  }
  return removed;
}

/** Of a value that nobody can guess. */
export function digestOf(value: string): Buffer {
  return createHash('sha256').update(value).digest();
}
