import type { Client } from '@tessera/rpc';
import type { DirectoryClient } from '@tessera/directory-client';
import type { DirectoryService } from '@tessera/proto-gen/directory';
import type { BrowserCall } from '../../browser-call.ts';
import type { Step, Verified } from '../../visits/step.ts';
import { findPerson, isPossible } from '../../limits/find-person.ts';
import { guessedPassword, longestIdentifier } from '../../limits/guess-counters.ts';
import type { Guess, LimitGuesses } from '../../limits/guess-limits.ts';

/** A giant password is never hashed (CVE-2023-38492). */
export const longestPassword = 1024;

/**
 * User name, e-mail address or phone number, and password: the fields `identifier` and `password`, and `passkeys`,
 * which is `make` from a browser in which the person may make one. Its page also offers a mail to people who have
 * forgotten theirs, if `recovers` is `yes`, and to make an account if `registers` is. Unknown, wrong, locked and
 * disabled get the same answer.
 */
export function createPasswordStep(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'isActive'>;
  readonly limitGuesses: LimitGuesses;
}): Step {
  const { directoryService, directory, limitGuesses } = deps;

  async function verify(
    { browser, call }: BrowserCall,
    { tenantId, identifier }: Guess,
    password: string,
  ): Promise<Verified | undefined> {
    if (!isPossible(identifier.trim(), longestIdentifier)) return undefined;
    if (!isPossible(password, longestPassword)) return undefined;
    const attempt = { tenantId, identifier, password, ipAddress: browser.ipAddress };
    const { user, signedInAtMs } = await directoryService.verifyPassword(attempt, call.onward());
    if (user?.tenantId !== tenantId || !directory.isActive(user)) return undefined;
    return { outcome: 'verified', user, signedInAt: Number(signedInAtMs), methods: ['pwd'] };
  }

  return {
    name: 'password',
    isDue: (_from, { person }) => person === undefined,
    shown: (_from, _visit, { request, sendsMail, registers }) => ({
      identifier: request?.form.loginHint ?? '',
      recovers: sendsMail ? 'yes' : '',
      registers: registers ? 'yes' : '',
    }),
    async take(from, _visit, { tenantId, clientId }, { identifier = '', password = '', passkeys = '' }) {
      if (identifier === '' || password === '') return { outcome: 'refused', problem: 'incomplete' };
      const guess = { tenantId, clientId, identifier };
      const verified = await limitGuesses(from, guess, {
        async whose() {
          const user = await findPerson(directoryService, from, guess);
          return user && guessedPassword(user);
        },
        check: () => verify(from, guess, password),
      });
      if (verified === undefined) return { outcome: 'refused', problem: 'wrong_credentials' };
      return passkeys === 'make' ? { ...verified, learned: { makesPasskeys: true } } : verified;
    },
  };
}
