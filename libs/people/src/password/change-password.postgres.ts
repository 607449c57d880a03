import type { Database } from '@tessera/stores';
import { changePerson } from '../change/change-person.postgres.ts';
import { eventOf, ofSignedIn, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/**
 * SQL: what `SET` of a user (`u`) says when the person sets a password, by which all ends that was issued before. The
 * former hash is kept as one that was imported: applying a file that declares it does not put it back.
 */
export const newPassword = (hash: string): string => `
  password_hash = ${hash},
  imported_hash = coalesce(u.imported_hash, sha256(convert_to(u.password_hash, 'UTF8')))`;

export interface PasswordReplacement extends Origin {
  /** PHC strings. */
  readonly from: string;
  readonly to: string;
}

/**
 * Replaces the hash of a person, if it is still `from` and their sign-in counts, and ends what was issued to them
 * before, in one commit. Returns from when sign-ins count, in seconds since the Unix epoch.
 */
export async function replacePassword(
  database: Database,
  runtime: ChangeRuntime,
  person: SignedInPerson,
  { from, to, ...origin }: PasswordReplacement,
): Promise<number | undefined> {
  return ofSignedIn(database, person, undefined, async (tx) => {
    const { rowCount } = await tx.query({
      name: 'directory.replace_password',
      text: `UPDATE directory.user_account u SET ${newPassword('$4')}
              WHERE u.tenant_id = $1 AND u.user_id = $2 AND u.password_hash = $3`,
      values: [person.tenantId, person.userId, from, to],
    });
    if (rowCount === 0) return undefined;
    const event = eventOf(person, origin, 'auth.credential.changed');
    return changePerson(tx, runtime, person, { ends: 'all', events: [event], letters: ['password'] });
  });
}
