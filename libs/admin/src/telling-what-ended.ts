import type { UsersService } from '@tessera/proto-gen/admin-users';
import type { CallOptions, Client } from '@tessera/rpc';

type Users = Client<typeof UsersService>;

/**
 * The people of the directory. A lockdown also tells what it has ended, as it was counted just before: afterwards
 * nothing of it is there.
 */
export function tellingWhatEnded(users: Users): Users {
  return {
    ...users,
    async lockDown(request, call?: CallOptions) {
      const { validateOnly = false, impact = false } = request;
      if (validateOnly || !impact) return users.lockDown(request, call);
      // What cannot be counted ends all the same, and what is refused is refused again.
      const counted = await users.lockDown({ ...request, validateOnly: true }, call).catch(() => undefined);
      const answer = await users.lockDown({ ...request, impact: false }, call);
      return counted?.impact === undefined ? answer : { ...answer, impact: counted.impact };
    },
  };
}
