import { areActive, type PersonId } from '@tessera/directory/ground';
import type { Queryable } from '@tessera/stores';

/**
 * Holds a person as they are until the commit, and returns when they sign in, in milliseconds since the Unix epoch: not
 * before what ended earlier sign-ins. Undefined for a person who may not sign in. The share lock waits for a change
 * that is under way, and a change that comes later is dated after it.
 */
export async function signInTime(tx: Queryable, { tenantId, userId }: PersonId): Promise<number | undefined> {
  const { rows } = await tx.query<{ signed_in_at: number }>({
    name: 'directory.sign_in_time',
    text: `SELECT greatest(u.valid_from * 1000, t.valid_from * 1000,
                           floor(extract(epoch FROM clock_timestamp()) * 1000))::float8 AS signed_in_at
             FROM directory.user_account u JOIN directory.tenant t ON t.tenant_id = u.tenant_id
            WHERE u.tenant_id = $1 AND u.user_id = $2 AND ${areActive('u', 't')}
              FOR SHARE`,
    values: [tenantId, userId],
  });
  return rows[0]?.signed_in_at;
}
