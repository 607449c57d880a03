import type { Queryable } from '@tessera/stores';
import { readAllOf, type RecordTable } from '../fields/record-table.ts';
import { recordKinds, type Kind, type ListedKind, type RecordKind, type RecordOf } from '../record-kinds.ts';
import type { StoredRecord } from '../plans/tenant-state.ts';
import { pageOf, type PageRequest } from '@tessera/rpc';
import type { RecordPage } from './store.ts';

function tableOf<K extends Kind>(kind: K): RecordTable<RecordOf[K]> {
  return recordKinds[kind].table as RecordTable<RecordOf[Kind]> as RecordTable<RecordOf[K]>;
}

/** A row of what is selected of a record. */
export type Row = Readonly<Record<string, unknown>> & {
  readonly etag: string;
  readonly created_at?: Date;
  readonly updated_at?: Date;
};

/** All records of a kind that a tenant has. */
export async function readRecords<K extends ListedKind>(
  tx: Queryable,
  kind: K,
  tenantId: string,
): Promise<RecordOf[K][]> {
  return readAllOf(tx, recordKinds[kind].list, tableOf(kind), tenantId);
}

/** A record of a tenant; undefined if unknown. */
export async function findRecord<K extends RecordKind>(
  queryable: Queryable,
  kind: K,
  tenantId: string,
  id: string,
): Promise<StoredRecord<RecordOf[K]> | undefined> {
  const table = tableOf(kind);
  const { from, alias, key } = table;
  const { rows } = await queryable.query<Row>({
    name: `directory.find_${kind}_record`,
    text: `SELECT ${selectedOf(table)} FROM ${from} WHERE ${alias}.tenant_id = $1 AND ${alias}.${key} = $2`,
    values: [tenantId, id],
  });
  return rows[0] && storedRecord(table, rows[0]);
}

/**
 * A record of a tenant, which stays as it is until the commit. It is read after it is locked: a statement that waits
 * for a lock sees the row as it became, but what it reads from other tables as it was.
 */
export async function lockRecord<K extends RecordKind>(
  tx: Queryable,
  kind: K,
  tenantId: string,
  id: string,
): Promise<StoredRecord<RecordOf[K]> | undefined> {
  const { from, alias, key } = tableOf(kind);
  await tx.query({
    name: `directory.lock_${kind}_record`,
    text: `SELECT FROM ${from} WHERE ${alias}.tenant_id = $1 AND ${alias}.${key} = $2 FOR UPDATE`,
    values: [tenantId, id],
  });
  return findRecord(tx, kind, tenantId, id);
}

/** Records that a search looks at for one page: some ten milliseconds of work. */
const lookedAtOnce = 5000;

/** What a list asks of records besides a text, for one kind of record. */
interface Narrowing {
  /** After `directory.`. */
  readonly name: string;
  /** SQL, beginning with AND, in which the values are parameters from $6 on. */
  readonly condition: string;
  readonly values: readonly string[];
}

/**
 * A page of the records of a tenant; empty for an unknown tenant. A page of a search may have fewer records than asked
 * for, or none, and another one after it: it ends after as many records as are looked at at once.
 */
export async function listRecords<K extends Kind>(
  queryable: Queryable,
  kind: K,
  tenantId: string,
  { after, search, size }: PageRequest,
  narrowing?: Narrowing,
): Promise<RecordPage<RecordOf[K]>> {
  const table = tableOf(kind);
  const selected = selectedOf(table);
  const isSearch = search !== '' || narrowing !== undefined;
  const end = isSearch ? await searchEnd(queryable, kind, tenantId, after) : undefined;
  const values = [tenantId, after, search, size + 1];
  const { rows } = await queryable.query<Row & { readonly position: string }>(
    narrowing !== undefined
      ? {
          name: `directory.${narrowing.name}`,
          text: table.page(selected, `coalesce($5::text, ${table.alias}.${table.key})`, narrowing.condition),
          values: [...values, end, ...narrowing.values],
        }
      : end === undefined
        ? { name: `directory.list_${kind}_records`, text: table.page(selected), values }
        : {
            name: `directory.search_${kind}_records`,
            text: table.page(selected, '$5'),
            values: [...values, end],
          },
  );
  const { page, last } = pageOf(rows, { size });
  return { records: page.map((row) => storedRecord(table, row)), next: last?.position ?? end };
}

/**
 * The position at which a search that begins after another one stops looking; undefined if it comes to the last record
 * before.
 */
async function searchEnd(
  queryable: Queryable,
  kind: Kind,
  tenantId: string,
  after: string,
): Promise<string | undefined> {
  const { alias, key, page } = tableOf(kind);
  const { rows } = await queryable.query<{ readonly position: string | null; readonly count: number }>({
    name: `directory.${kind}_search_end`,
    text: `SELECT max(position) AS position, count(*)::int AS count FROM (${page(`${alias}.${key}`)}) AS looked_at`,
    values: [tenantId, after, '', lookedAtOnce],
  });
  const [last] = rows;
  return last?.count === lookedAtOnce ? (last.position ?? undefined) : undefined;
}

/** For SELECT. The version of a row is its `xmin`: the transaction that wrote it, by any version of Tessera. */
export function selectedOf({ selected, alias, isDated }: RecordTable<unknown>): string {
  const times = isDated ? `, ${alias}.created_at, ${alias}.updated_at` : '';
  return `${selected}, ${alias}.xmin::text AS etag${times}`;
}

/** The record of a row of `selectedOf`. */
export function storedRecord<R>({ read }: RecordTable<R>, row: Row): StoredRecord<R> {
  return { record: read(row), etag: row.etag, createdAt: row.created_at, updatedAt: row.updated_at };
}
