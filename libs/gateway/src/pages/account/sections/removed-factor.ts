import { AccountProblem } from '@tessera/proto-gen/account';
import { rootCall } from '@tessera/rpc';
import { browserContext } from '../../browser-context.ts';
import type { PageContext } from '../../page-context.ts';
import { giveSession } from '../../session.ts';
import type { AccountResult } from './account-results.ts';
import { resultOf, type AccountVisit } from './account-section.ts';

/** Removes a passkey or, without an identifier, the app; the browser gets the session that is left. */
export async function removeFactor(
  context: PageContext,
  passkeyId: string,
  done: AccountResult,
): Promise<AccountResult | { readonly visit: AccountVisit }> {
  const { app, request, gateway } = context;
  const { problem, session } = await gateway.peers.account.removeFactor(
    { browser: browserContext(app, request), passkeyId },
    rootCall(request.incoming.requestId),
  );
  if (problem === AccountProblem.SIGN_IN_AGAIN) return { visit: 'change' };
  if (session !== undefined) await giveSession(context, session);
  return resultOf(problem, done);
}
