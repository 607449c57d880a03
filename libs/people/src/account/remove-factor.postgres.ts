import type { Database, Queryable } from '@tessera/stores';
import { type PersonId, waysInOf } from '@tessera/directory/ground';
import { byThemselves, ofSignedIn, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';
import { removeCredential } from '../change/remove-credential.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/**
 * Removes a passkey of a person, or their authenticator app (`credentialId` ''), and ends what was issued to them
 * before: the finder of a lost device may be signed in with it. `unknown` if they have no such factor or their sign-in
 * does not count, `last` for the only way in which they can sign in. Returns from when sign-ins count, in seconds since
 * the Unix epoch.
 */
export async function removeFactor(
  database: Database,
  runtime: ChangeRuntime,
  person: SignedInPerson,
  { credentialId: id, ...origin }: Origin & { readonly credentialId: string },
): Promise<'unknown' | 'last' | { readonly validFrom: number }> {
  const credential = { kind: id === '' ? 'totp' : 'passkey', id } as const;
  return ofSignedIn(database, person, 'unknown', async (tx) => {
    if (id !== '' && (await isLastWayIn(tx, person, id))) return 'last';
    const by = byThemselves(person, origin);
    const validFrom = await removeCredential(tx, runtime, person, { credential, by });
    return validFrom === undefined ? 'unknown' : { validFrom };
  });
}

/** Whether a passkey is the person's, and all that lets them in. */
async function isLastWayIn(tx: Queryable, person: PersonId, passkey: string): Promise<boolean> {
  if ((await waysInOf(tx, person, { passkey })).length > 0) return false;
  return (await waysInOf(tx, person)).length > 0;
}
