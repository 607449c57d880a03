import type { Clock } from '@tessera/kit';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import { Code, ConnectError, type CallOptions, type Client } from '@tessera/rpc';
import type { Limiter } from '@tessera/stores';
import { countersOfCodes, countersOfPassword } from './guess-counters.ts';
import { daySeconds, type SignInLimits } from './guess-limits.ts';

/**
 * Until when too many wrong passwords, or codes of an app, lock the sign-in of a person, in milliseconds since the Unix
 * epoch; 0 if they do not. An unlock ends it.
 */
export type LockOf = (
  person: { readonly tenantId: string; readonly userId: string },
  call: CallOptions,
) => Promise<number>;

export function createLockOf(deps: {
  readonly directoryService: Pick<Client<typeof DirectoryService>, 'getUser'>;
  readonly limiter: Pick<Limiter, 'used'>;
  readonly limits: Pick<SignInLimits, 'account' | 'person' | 'codes'>;
  readonly clock: Clock;
}): LockOf {
  const { directoryService, limiter, limits, clock } = deps;
  // The bound of a day stays whatever an administrator does.
  const ofCodes = limits.codes.filter(({ windowSeconds }) => windowSeconds < daySeconds);
  return async (person, call) => {
    const { user } = await directoryService.getUser(person, call).catch((error: unknown) => {
      if (error instanceof ConnectError && error.code === Code.NotFound) return { user: undefined };
      throw error;
    });
    if (user === undefined) return 0;
    const [passwords, codes] = [countersOfPassword(user), countersOfCodes(user)];
    const left = await Promise.all([
      limiter.used(limits.person, passwords.person),
      ...passwords.accounts.map((account) => limiter.used(limits.account, account)),
      limiter.used(limits.person, codes.person),
      limiter.used(limits.account, codes.account),
      ...ofCodes.map((rule) => limiter.used(rule, codes.account)),
    ]);
    const longest = Math.max(...left);
    return longest === 0 ? 0 : clock.now() + longest;
  };
}
