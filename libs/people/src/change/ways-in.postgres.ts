import type { Queryable } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';

/** Whether a person has a passkey, or an identity at a provider. */
export async function hasOtherWayIn(tx: Queryable, { tenantId, userId }: PersonId): Promise<boolean> {
  const has = (table: string) =>
    `EXISTS (SELECT FROM directory.${table} h WHERE h.tenant_id = $1 AND h.user_id = $2)`;
  const { rows } = await tx.query<{ found: boolean }>({
    name: 'directory.has_other_way_in',
    text: `SELECT ${has('passkey')} OR ${has('provider_identity')} AS found`,
    values: [tenantId, userId],
  });
  return rows[0]?.found === true;
}
