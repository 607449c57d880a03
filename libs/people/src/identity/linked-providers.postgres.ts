import type { Database } from '@tessera/stores';
import { waysInOf } from '@tessera/directory/ground';
import { lockProvider } from '@tessera/directory/records';
import type { ChangeRuntime } from '../mail/announce.ts';
import { changePerson } from '../change/change-person.postgres.ts';
import {
  byThemselves,
  eventOf,
  ofSignedIn,
  type Origin,
  type SignedInPerson,
} from '../change/own-change.postgres.ts';
import { hasCredential, removeCredential } from '../change/remove-credential.postgres.ts';
import { bindIdentity, findHolder, type Identity } from './identities.postgres.ts';

/**
 * Why a person is not linked. `taken`: the identity is somebody else's, or the person has another one there.
 * `provider`: the tenant has no such provider with that issuer. `inactive`: their sign-in does not count.
 */
export type LinkRefusal = 'taken' | 'provider' | 'inactive';

/**
 * Binds an identity to a person who has proved that it is theirs while they are signed in. Undefined if it is theirs
 * now; one that was theirs before stays so, without a further audit row.
 */
export async function linkProvider(
  database: Database,
  runtime: ChangeRuntime,
  person: SignedInPerson,
  { identity, ...origin }: Origin & { readonly identity: Identity },
): Promise<LinkRefusal | undefined> {
  const { tenantId, provider, issuer } = identity;
  return ofSignedIn(database, person, 'inactive', async (tx) => {
    if ((await lockProvider(tx, tenantId, provider))?.issuer !== issuer) return 'provider';
    if (!(await bindIdentity(tx, identity, person.userId)))
      return (await findHolder(tx, identity)) === person.userId ? undefined : 'taken';
    const details = { provider, account: 'own' };
    const events = [eventOf(person, origin, 'auth.provider.linked', details)];
    await changePerson(tx, runtime, person, { ends: 'renewed', events, letters: ['provider-linked'] });
    return undefined;
  });
}

/**
 * Removes what a person signs in with at a provider, and ends what was issued to them before: who has that account may
 * be signed in with it. `unknown` if they have nothing there or their sign-in does not count, `last` for the only way
 * in which they can sign in. Returns from when sign-ins count, in seconds since the Unix epoch.
 */
export async function unlinkProvider(
  database: Database,
  runtime: ChangeRuntime,
  person: SignedInPerson,
  { provider, ...origin }: Origin & { readonly provider: string },
): Promise<'unknown' | 'last' | { readonly validFrom: number }> {
  const credential = { kind: 'provider', id: provider } as const;
  return ofSignedIn(database, person, 'unknown', async (tx) => {
    if (!(await hasCredential(tx, person, credential))) return 'unknown';
    if ((await waysInOf(tx, person, { provider })).length === 0) return 'last';
    const by = byThemselves(person, origin);
    const validFrom = await removeCredential(tx, runtime, person, { credential, by });
    return validFrom === undefined ? 'unknown' : { validFrom };
  });
}
