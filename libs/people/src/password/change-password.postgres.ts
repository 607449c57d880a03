import type { Database } from '@tessera/stores';
import {
  appendChanges,
  areActive,
  insertAuditRows,
  personValidFrom,
  lockTenant,
} from '@tessera/directory/ground';
import type { ChangeRuntime } from '../mail/announce.ts';

/**
 * SQL: what `SET` of a user (`u`) says when the person sets a password. The former hash is kept as one that was imported: applying a file
 * that declares it does not put it back.
 */
export const newPassword = (hash: string): string => `
  password_hash = ${hash}, valid_from = ${personValidFrom('u')}, updated_at = clock_timestamp(),
  imported_hash = coalesce(u.imported_hash, sha256(convert_to(u.password_hash, 'UTF8')))`;

export interface PasswordReplacement {
  readonly tenantId: string;
  readonly userId: string;
  /** PHC strings. */
  readonly from: string;
  readonly to: string;
  readonly ipAddress: string;
  readonly requestId: string;
}

/**
 * Replaces the hash of a person, if it is still `from` and the person may sign in, and ends what was issued to them before, in one commit.
 * Returns from when sign-ins count, in seconds since the Unix epoch.
 */
export async function replacePassword(
  database: Database,
  runtime: ChangeRuntime,
  { tenantId, userId, from, to, ...origin }: PasswordReplacement,
): Promise<number | undefined> {
  return database.transaction(async (tx) => {
    await lockTenant(tx, tenantId, 'together');
    const { rows } = await tx.query<{ valid_from: number }>({
      name: 'directory.replace_password',
      text: `UPDATE directory.user_account u SET ${newPassword('$4')}
               FROM directory.tenant t
              WHERE t.tenant_id = u.tenant_id AND u.tenant_id = $1 AND u.user_id = $2 AND u.password_hash = $3
                AND ${areActive('u', 't')}
             RETURNING greatest(u.valid_from, t.valid_from)::float8 AS valid_from`,
      values: [tenantId, userId, from, to],
    });
    const [changed] = rows;
    if (changed === undefined) return undefined;
    const event = { event: 'auth.credential.changed', outcome: 'success' } as const;
    const actor = { type: 'user', id: userId } as const;
    await insertAuditRows(tx, [{ ...origin, ...event, tenantId, subject: userId, actor }], runtime);
    await runtime.announce(tx, { tenantId, userId }, 'password');
    await appendChanges(tx, [{ kind: 'user', tenantId, id: userId, endsAll: true }]);
    return changed.valid_from;
  });
}
