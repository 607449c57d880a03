import type { Queryable } from '@tessera/stores';
import { isKept } from '../deleted/deleted-records.postgres.ts';
import { storedForms } from './identifiers.ts';

/** SQL: the identifiers of the person `u`, as they are kept while they are deleted. */
export function keptIdentifiers(u: string): string {
  return `(SELECT jsonb_agg(i.identifier) FROM directory.user_identifier i
            WHERE i.tenant_id = ${u}.tenant_id AND i.user_id = ${u}.user_id)`;
}

/** Whether somebody signed in with one of these normalized identifiers who was deleted and can be restored. */
export async function areOfDeletedPerson(
  queryable: Queryable,
  tenantId: string,
  identifiers: readonly string[],
): Promise<boolean> {
  const { rows } = await queryable.query({
    name: 'directory.are_of_deleted_person',
    text: `SELECT FROM directory.deleted_record
            WHERE tenant_id = $1 AND kind = 'user' AND ${isKept}
              AND facts -> 'identifiers' ?| $2::text[] LIMIT 1`,
    values: [tenantId, identifiers.flatMap(storedForms)],
  });
  return rows.length > 0;
}
