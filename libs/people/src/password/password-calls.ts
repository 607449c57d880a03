import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { Handlers } from '@tessera/rpc';
import { userMessage } from '@tessera/directory/records';
import type { ChangePassword } from './change-password.ts';
import type { PasswordSignIn } from './password-sign-in.ts';

/** The calls of a sign-in with a password, and of its change. */
export function passwordCalls({
  signIns,
  changePassword,
}: {
  readonly signIns: PasswordSignIn;
  readonly changePassword: ChangePassword;
}): Pick<Handlers<typeof DirectoryService>, 'verifyPassword' | 'replacePassword'> {
  return {
    async verifyPassword({ tenantId, identifier, password, ipAddress }, { signal }) {
      const signedIn = await signIns.signIn({ tenantId, identifier, password, ipAddress }, signal);
      if (signedIn === undefined) return {};
      return { user: userMessage(signedIn.found), signedInAtMs: BigInt(signedIn.signedInAt) };
    },

    async replacePassword(change, { requestId, signal }) {
      const changed = await changePassword(change, { requestId, signal });
      if (changed === 'wrong') return {};
      if ('problem' in changed) return { passwordProblem: changed.problem };
      return { user: userMessage(changed.found), signedInAtMs: BigInt(changed.signedInAt) };
    },
  };
}
