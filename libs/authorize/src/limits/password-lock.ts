import type { Clock } from '@tessera/kit';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, type CallOptions, type Client } from '@tessera/rpc';
import type { Limiter } from '@tessera/stores';
import { countersOfPassword } from './guess-counters.ts';
import type { SignInLimits } from './guess-limits.ts';

/**
 * Until when too many wrong passwords lock sign-in with one, in milliseconds since the Unix epoch; 0 if they do not.
 */
export type PasswordLockOf = (
  person: { readonly tenantId: string; readonly userId: string },
  call: CallOptions,
) => Promise<number>;

export function createPasswordLockOf(deps: {
  readonly directoryService: Pick<Client<typeof DirectoryService>, 'getUser'>;
  readonly limiter: Pick<Limiter, 'used'>;
  readonly limits: Pick<SignInLimits, 'account' | 'person'>;
  readonly clock: Clock;
}): PasswordLockOf {
  const { directoryService, limiter, limits, clock } = deps;
  return async (person, call) => {
    const { user } = await directoryService.getUser(person, call).catch((error: unknown) => {
      if (error instanceof ConnectError && error.code === Code.NotFound) return { user: undefined };
      throw error;
    });
    if (user === undefined) return 0;
    const counters = countersOfPassword(user);
    const left = await Promise.all([
      limiter.used(limits.person, counters.person),
      ...counters.accounts.map((account) => limiter.used(limits.account, account)),
    ]);
    const longest = Math.max(...left);
    return longest === 0 ? 0 : clock.now() + longest;
  };
}
