import type { Database } from '@tessera/stores';
import { areActive, lockTenant } from '@tessera/directory/ground';
import { changePerson } from '../change/change-person.postgres.ts';
import { eventOf } from '../change/own-change.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/**
 * SQL: what `SET` of a user (`u`) says when the person sets a password, by which all ends that was issued before. The
 * former hash is kept as one that was imported: applying a file that declares it does not put it back.
 */
export const newPassword = (hash: string): string => `
  password_hash = ${hash},
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
 * Replaces the hash of a person, if it is still `from` and the person may sign in, and ends what was issued to them
 * before, in one commit. Returns from when sign-ins count, in seconds since the Unix epoch.
 */
export async function replacePassword(
  database: Database,
  runtime: ChangeRuntime,
  { tenantId, userId, from, to, ...origin }: PasswordReplacement,
): Promise<number | undefined> {
  return database.transaction(async (tx) => {
    await lockTenant(tx, tenantId, 'together');
    const { rowCount } = await tx.query({
      name: 'directory.replace_password',
      text: `UPDATE directory.user_account u SET ${newPassword('$4')}
               FROM directory.tenant t
              WHERE t.tenant_id = u.tenant_id AND u.tenant_id = $1 AND u.user_id = $2 AND u.password_hash = $3
                AND ${areActive('u', 't')}`,
      values: [tenantId, userId, from, to],
    });
    if (rowCount === 0) return undefined;
    const person = { tenantId, userId };
    const event = eventOf(person, origin, 'auth.credential.changed');
    return changePerson(tx, runtime, person, { ends: 'all', events: [event], letters: ['password'] });
  });
}
