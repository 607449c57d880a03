import type { Clock, Random } from '@tessera/kit';
import type { Database } from '@tessera/stores';
import { newPasswordProblem, type Passwords, signInSource } from '@tessera/directory/ground';
import type { DirectoryStore } from '@tessera/directory/records';
import type { Announce } from '../mail/announce.ts';
import { replacePassword } from './change-password.postgres.ts';
import type { SignedInPerson } from '../change/own-change.postgres.ts';
import { maySignIn, type SignedIn } from '../change/may-sign-in.ts';

export interface ChangePasswordDeps {
  readonly database: Database;
  readonly store: Pick<DirectoryStore, 'findUser'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly announce: Announce;
  readonly passwords: Passwords;
  /** In characters. */
  readonly passwordMinLength: number;
  /** Called after each commit. */
  readonly onChange: () => void;
}

export interface PasswordChange extends SignedInPerson {
  readonly presentPassword: string;
  readonly newPassword: string;
  readonly ipAddress: string;
}

/**
 * Changes the password of a person who knows the present one, and signs them in. `wrong` also for unknown and inactive
 * people; a problem is the end of a sentence, and nothing has changed.
 */
export type ChangePassword = (
  change: PasswordChange,
  call: { readonly requestId: string; readonly signal: AbortSignal },
) => Promise<SignedIn | 'wrong' | { readonly problem: string }>;

/** A better hash of the same password may replace the one that is compared. */
const attempts = 2;

export function createChangePassword({
  database,
  store,
  passwords,
  passwordMinLength,
  onChange,
  ...runtime
}: ChangePasswordDeps): ChangePassword {
  return async ({ presentPassword, newPassword, ipAddress, ...person }, { requestId, signal }) => {
    const { tenantId, userId } = person;
    const source = signInSource(tenantId, userId, ipAddress);
    for (let attempt = 0; attempt < attempts; attempt += 1) {
      const found = await store.findUser(tenantId, userId);
      const from = found?.user.passwordHash;
      const matches = await passwords.verify(presentPassword, from, { source, signal });
      if (!matches || found === undefined || from === undefined || !maySignIn(found)) return 'wrong';
      const problem = newPasswordProblem(newPassword, passwordMinLength);
      if (problem !== undefined) return { problem };
      const to = await passwords.chosen(newPassword, source, signal);
      const replacement = { from, to, ipAddress, requestId };
      const validFrom = await replacePassword(database, runtime, person, replacement);
      if (validFrom === undefined) continue;
      onChange();
      // As a sign-in at the same moment would be dated.
      return { found: { ...found, validFrom }, signedInAt: validFrom * 1000 };
    }
    return 'wrong';
  };
}
