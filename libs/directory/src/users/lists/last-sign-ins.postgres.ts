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
    // One after the other, as Postgres may find all at once by another index, through the whole tenant.
    text: `SELECT s.user_id AS "userId", s.signed_in_at AS at
             FROM unnest($2::text[]) AS asked(user_id)
            CROSS JOIN LATERAL (
              SELECT user_id, signed_in_at FROM directory.person_seen
               WHERE tenant_id = $1 AND user_id = asked.user_id AND signed_in_at IS NOT NULL LIMIT 1) s`,
    values: [tenantId, userIds],
  });
  return rows;
}
