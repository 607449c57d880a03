import type { Queryable } from '@tessera/stores';

/** How records of a kind are read. */
export interface RecordTable<R> {
  /** With the alias that the other parts use. */
  readonly from: string;
  readonly alias: string;
  /** The column that identifies a record within its tenant. */
  readonly key: string;
  /** Whether rows have the times of their creation and last change. */
  readonly isDated: boolean;
  /** For SELECT, with the names that `read` expects. */
  readonly selected: string;
  read(row: Readonly<Record<string, unknown>>): R;
  /**
   * A page of records and their `position` in the order of pages: $1 the tenant, $2 the position after which it begins,
   * $3 the text that is searched for, empty for all, $4 the most records.
   * @param selected for SELECT
   * @param end the parameter with the last position that is looked at, of a search
   * @param narrowed a further condition, beginning with AND
   */
  page(selected: string, end?: string, narrowed?: string): string;
}

/**
 * All records of a tenant.
 * @param list the name of the statement after `read_`
 */
export async function readAllOf<R>(
  tx: Queryable,
  list: string,
  { selected, from, alias, read }: Pick<RecordTable<R>, 'selected' | 'from' | 'alias' | 'read'>,
  tenantId: string,
): Promise<R[]> {
  const { rows } = await tx.query({
    name: `directory.read_${list}`,
    text: `SELECT ${selected} FROM ${from} WHERE ${alias}.tenant_id = $1`,
    values: [tenantId],
  });
  return rows.map(read);
}

/**
 * SQL: whether what is searched for, $3, is part of the text in any case. LIKE looks through a large tenant in half the
 * time of position().
 */
export const isFoundIn = (text: string): string =>
  `($3 = '' OR lower(${text}) LIKE (SELECT '%' || regexp_replace(lower($3), '([\\\\%_])', '\\\\\\1', 'g') || '%'))`;

/** SQL: the condition of a page that ends at a position, if it does. */
export const upTo = (position: string, end: string | undefined): string =>
  end === undefined ? '' : `AND ${position} <= ${end}`;

/** The order of keys, searched by what they or the names contain. */
export function pageByKey({
  from,
  alias,
  key,
  name,
}: {
  readonly from: string;
  readonly alias: string;
  readonly key: string;
  /** Of the column that is searched in addition to the key. */
  readonly name: string;
}): RecordTable<unknown>['page'] {
  const position = `${alias}.${key}`;
  return (selected, end, narrowed = '') => `
    SELECT ${selected}, ${position} AS position FROM ${from}
     WHERE ${alias}.tenant_id = $1 AND ${position} > $2 ${upTo(position, end)} ${narrowed}
       AND ${isFoundIn(`${position} || ' ' || ${alias}.${name}`)}
     ORDER BY ${position} LIMIT $4`;
}
