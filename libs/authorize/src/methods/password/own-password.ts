import type { DirectoryClient } from '@tessera/directory-client';
import type { DirectoryService, ReplacePasswordResponse } from '@tessera/proto-gen/directory';
import type { Client } from '@tessera/rpc';
import type { BrowserCall } from '../../browser-call.ts';
import { askingBySession } from '../../visits/asking-person.ts';
import { counts } from '../../sessions/counts.ts';
import type { OpenedSession, Sessions } from '../../sessions/sessions.ts';
import { guessedPassword } from '../../limits/guess-counters.ts';
import type { LimitGuesses } from '../../limits/guess-limits.ts';
import { isPossible } from '../../limits/find-person.ts';
import { longestPassword } from './password.ts';

/**
 * What came of a change. `wrong`: the present password. `refused`: the new one, with the end of a sentence.
 */
export type PasswordChanged =
  | { readonly outcome: 'changed'; readonly opened: OpenedSession }
  | { readonly outcome: 'refused'; readonly problem: string }
  | { readonly outcome: 'wrong' | 'signed_out' };

/**
 * Changes the password of the person who is signed in, who must know the present one: whoever finds an open browser may
 * not lock its owner out. Guesses count as those of sign-ins. Every session of the person ends; this browser gets a new
 * one.
 */
export type ChangeOwnPassword = (
  from: BrowserCall,
  change: { readonly presentPassword: string; readonly newPassword: string },
) => Promise<PasswordChanged>;

export function createChangeOwnPassword(deps: {
  readonly directoryService: Client<typeof DirectoryService>;
  readonly directory: Pick<DirectoryClient, 'tenant' | 'user'>;
  readonly sessions: Pick<Sessions, 'find' | 'open'>;
  readonly limitGuesses: LimitGuesses;
}): ChangeOwnPassword {
  const { directoryService, directory, sessions, limitGuesses } = deps;

  return async (from, change) => {
    const { call } = from;
    const session = await sessions.find(from);
    const user = session && (await directory.user(session.tenantId, session.userId, call.onward()));
    const tenant = session && (await directory.tenant(session.tenantId, call.onward()));
    if (session === undefined || user === undefined || !counts(tenant, user, session.authentication))
      return { outcome: 'signed_out' };
    const asking = askingBySession(from, session);
    const { tenantId, userId, username } = user;

    async function replaced(): Promise<ReplacePasswordResponse | undefined> {
      if (!isPossible(change.presentPassword, longestPassword)) return undefined;
      const answer = await directoryService.replacePassword({ ...asking, ...change }, call.onward());
      return answer.user === undefined && answer.passwordProblem === '' ? undefined : answer;
    }

    const answer = await limitGuesses(
      from,
      { tenantId, clientId: '', identifier: username, isKnown: true },
      { whose: async () => guessedPassword(user), check: replaced },
    );
    if (answer === undefined) return { outcome: 'wrong' };
    if (answer.user === undefined) return { outcome: 'refused', problem: answer.passwordProblem };
    // What else the session knows of them still holds.
    const methods = [...new Set(['pwd', ...session.authentication.methods])];
    const signIn = { tenantId, userId, signedInAt: Number(answer.signedInAtMs), methods };
    return { outcome: 'changed', opened: await sessions.open(from, signIn, '', session) };
  };
}
