import type { User } from '@tessera/proto-gen/directory';
import type { PersonService } from '@tessera/proto-gen/person';
import type { Client } from '@tessera/rpc';
import { knownBrowserHash, type BrowserCall } from '../browser-call.ts';
import type { KnownBrowserStore } from '../store/known-browsers.postgres.ts';

/** Has a person told of a sign-in with a browser in which they have not signed in before, or not since a lockdown. */
export type TellOfSignIn = (
  from: BrowserCall,
  person: Pick<User, 'tenantId' | 'userId' | 'lockedDownAt'>,
) => Promise<void>;

/**
 * It comes before the session, which remembers the browser: if a store fails, the sign-in is repeated and nothing was
 * left out.
 */
export function createTellOfSignIn({
  knownBrowsers,
  personService,
}: {
  readonly knownBrowsers: Pick<KnownBrowserStore, 'signedInBefore'>;
  readonly personService: Pick<Client<typeof PersonService>, 'announceSignIn'>;
}): TellOfSignIn {
  return async ({ browser: { knownBrowserToken, ipAddress, userAgent }, call }, person) => {
    const { tenantId, userId } = person;
    const tokenHash = knownBrowserHash(knownBrowserToken);
    const whose = { tenantId, userId, lockedDownAt: Number(person.lockedDownAt) };
    const { here, anywhere } = await knownBrowsers.signedInBefore(tokenHash, whose);
    if (here) return;
    const signIn = { tenantId, userId, ipAddress, userAgent, first: !anywhere };
    await personService.announceSignIn(signIn, call.onward());
  };
}
