import type { Queryable } from '@tessera/stores';
import { type PersonId, secondFactorsOfUser } from '@tessera/directory/ground';

/** Which of the second factors a person has: `totp`, `passkey`. */
export async function factorsOfUser(database: Queryable, { tenantId, userId }: PersonId): Promise<string[]> {
  const { rows } = await database.query<{ second_factors: string[] }>({
    name: 'directory.factors_of_user',
    text: `SELECT ${secondFactorsOfUser} FROM directory.user_account u WHERE u.tenant_id = $1 AND u.user_id = $2`,
    values: [tenantId, userId],
  });
  return rows[0]?.second_factors ?? [];
}

const factorTables = ['totp', 'recovery_code', 'passkey'] as const;

/** Removes what people had to prove who they are, but for their passwords and providers; or some of it. */
export async function forgetFactors(
  database: Queryable,
  people: readonly PersonId[],
  tables: readonly (typeof factorTables)[number][] = factorTables,
): Promise<void> {
  if (people.length === 0) return;
  const values = [people.map(({ tenantId }) => tenantId), people.map(({ userId }) => userId)];
  for (const table of tables)
    await database.query({
      name: `directory.forget_${table}`,
      text: `DELETE FROM directory.${table} WHERE (tenant_id, user_id) IN (
               SELECT p.tenant_id, p.user_id FROM unnest($1::text[], $2::text[]) AS p(tenant_id, user_id))`,
      values,
    });
}
