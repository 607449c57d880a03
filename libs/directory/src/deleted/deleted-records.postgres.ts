import type { Queryable } from '@tessera/stores';
import { pageOf, type PageRequest } from '@tessera/rpc';
import type { PersonId } from '../ground/person-id.ts';
import type { DeletedPage, DeletedRecord } from './deleted-record.ts';

/** SQL: whether a deleted record can still be restored, or is to be purged. */
export const isKept = `deleted_at > statement_timestamp() - interval '30 days'`;

/**
 * SQL: keeps what a statement deletes.
 * @param kept SQL: JSON of the records with their identifiers and names. `deleted` has their identifiers, and the facts
 * of their rows
 */
export function keepDeleted(kind: string, kept: string): string {
  return `INSERT INTO directory.deleted_record (tenant_id, kind, id, name, record, facts)
     SELECT $1, '${kind}', k.id, k.name, k.record, deleted.facts
       FROM jsonb_to_recordset(${kept}::jsonb) AS k(id text, name text, record jsonb) JOIN deleted ON deleted.id = k.id
     ON CONFLICT (tenant_id, kind, id) DO UPDATE
        SET name = excluded.name, record = excluded.record, facts = excluded.facts, deleted_at = excluded.deleted_at`;
}

/** SQL: the facts of deleted records, which are no longer kept. */
export function takeDeleted(kind: string, ids: string): string {
  return `DELETE FROM directory.deleted_record
           WHERE tenant_id = $1 AND kind = '${kind}' AND id = ANY(${ids}::text[]) RETURNING id, facts`;
}

/** Behind every name that begins with a text, in the order of bytes. */
const last = '\u{10ffff}';

interface Row {
  readonly id: string;
  readonly name: string;
  readonly record: unknown;
  readonly deleted_at: Date;
}

/**
 * A deleted record, which stays as it is until the commit; undefined if there is none, or it is too old to be restored.
 */
export async function lockDeleted<R>(
  tx: Queryable,
  kind: string,
  tenantId: string,
  id: string,
): Promise<DeletedRecord<R> | undefined> {
  const { rows } = await tx.query<Row>({
    name: 'directory.lock_deleted_record',
    text: `SELECT id, name, record, deleted_at FROM directory.deleted_record
            WHERE tenant_id = $1 AND kind = $2 AND id = $3 AND ${isKept} FOR UPDATE`,
    values: [tenantId, kind, id],
  });
  return rows[0] && deletedRecord<R>(rows[0]);
}

/**
 * A page of the deleted records of a tenant whose names begin with the text that is searched for, in the order of the
 * names.
 */
export async function listDeleted<R>(
  queryable: Queryable,
  kind: string,
  tenantId: string,
  { after, search, size }: PageRequest,
): Promise<DeletedPage<R>> {
  // No identifier has a space.
  const end = after.lastIndexOf(' ');
  const { rows } = await queryable.query<Row>({
    name: 'directory.list_deleted_records',
    text: `SELECT id, name, record, deleted_at FROM directory.deleted_record
            WHERE tenant_id = $1 AND kind = $2 AND (name COLLATE "C", id COLLATE "C") > ($3, $4)
              AND name COLLATE "C" >= $5::text AND name COLLATE "C" < $5::text || '${last}' AND ${isKept}
            ORDER BY name COLLATE "C", id COLLATE "C" LIMIT $6`,
    values: [tenantId, kind, after.slice(0, Math.max(end, 0)), after.slice(end + 1), search, size + 1],
  });
  const { page, last: lastOfPage } = pageOf(rows, { size });
  return {
    records: page.map((row) => deletedRecord<R>(row)),
    next: lastOfPage && `${lastOfPage.name} ${lastOfPage.id}`,
  };
}

/** Which of these names, normalized user names or client IDs, deleted records of a tenant had that can be restored. */
export async function deletedNames(
  queryable: Queryable,
  kind: string,
  tenantId: string,
  names: readonly string[],
): Promise<ReadonlySet<string>> {
  if (names.length === 0) return new Set();
  const { rows } = await queryable.query<{ name: string }>({
    name: 'directory.deleted_names',
    text: `SELECT DISTINCT name FROM directory.deleted_record
            WHERE tenant_id = $1 AND kind = $2 AND name COLLATE "C" = ANY($3::text[]) AND ${isKept}`,
    values: [tenantId, kind, names],
  });
  return new Set(rows.map(({ name }) => name));
}

/** Removes what people who are gone for good had besides their records. */
export type ForgetPeople = (queryable: Queryable, people: readonly PersonId[]) => Promise<void>;

/** Forgets up to `limit` records that can no longer be restored; resolves with how many. */
export async function purgeDeleted(
  queryable: Queryable,
  limit: number,
  forgetPeople: ForgetPeople,
): Promise<number> {
  const { rows: people } = await queryable.query<{ tenant_id: string; user_id: string }>({
    name: 'directory.people_gone_for_good',
    text: `SELECT tenant_id, id AS user_id FROM directory.deleted_record
            WHERE kind = 'user' AND deleted_at <= statement_timestamp() - interval '30 days' ORDER BY deleted_at LIMIT $1`,
    values: [limit],
  });
  const gone = people.map((row) => ({ tenantId: row.tenant_id, userId: row.user_id }));
  await forgetPeople(queryable, gone);
  const { rowCount } = await queryable.query({
    name: 'directory.purge_deleted_records',
    text: `DELETE FROM directory.deleted_record WHERE (tenant_id, kind, id) IN (
             SELECT tenant_id, kind, id FROM directory.deleted_record
              WHERE deleted_at <= statement_timestamp() - interval '30 days'
              ORDER BY deleted_at LIMIT $1 FOR UPDATE SKIP LOCKED)`,
    values: [limit],
  });
  return rowCount;
}

/** What is kept under the kind of `R`. */
function deletedRecord<R>({ record, deleted_at: deletedAt }: Row): DeletedRecord<R> {
  return { record: record as R, deletedAt };
}
