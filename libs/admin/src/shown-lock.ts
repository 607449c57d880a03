import type { UsersService } from '@tessera/proto-gen/admin-users';
import type { AuthorizeService } from '@tessera/proto-gen/authorize';
import { timestampFromMs, type CallOptions, type Client } from '@tessera/rpc';

type Users = Client<typeof UsersService>;

/**
 * The people of the directory. Who reads one also learns of the lock after too many guesses, which `authorize` counts.
 */
export function showingLock(
  users: Users,
  authorize: Pick<Client<typeof AuthorizeService>, 'getLock'>,
): Users {
  return {
    ...users,
    async get(request, call?: CallOptions) {
      const [user, { endsAtMs }] = await Promise.all([
        users.get(request, call),
        authorize.getLock({ tenantId: request.tenantId ?? '', userId: request.userId ?? '' }, call),
      ]);
      return endsAtMs === 0n ? user : { ...user, lockExpireTime: timestampFromMs(Number(endsAtMs)) };
    },
  };
}
