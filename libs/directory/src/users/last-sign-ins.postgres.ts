import type { Queryable } from '@tessera/stores';

/** When people of a tenant last signed in, in no order; without those of whom it is not known. */
export async function lastSignIns(
  queryable: Queryable,
  tenantId: string,
  userIds: readonly string[],
): Promise<readonly { readonly userId: string; readonly at: Date }[]> {
  if (userIds.length === 0) return [];
  const { rows } = await queryable.query<{ readonly userId: string; readonly at: Date }>({
    name: 'directory.last_sign_ins',
    text: `SELECT user_id AS "userId", signed_in_at AS at FROM directory.person_seen
            WHERE tenant_id = $1 AND user_id = ANY($2::text[]) AND signed_in_at IS NOT NULL`,
    values: [tenantId, userIds],
  });
  return rows;
}
