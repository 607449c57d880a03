import type { Database, Queryable } from '@tessera/stores';
import { type PersonId, waysInOf } from '@tessera/directory/ground';
import { changePerson } from '../change/change-person.postgres.ts';
import { eventOf, ofSignedIn, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';
import { factorsOfUser } from '../change/factors.postgres.ts';
import { forgetRecoveryCodes } from '../recovery/recovery-codes.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';

/**
 * Removes a passkey of a person, or their authenticator app (`credentialId` ''), and ends what was issued to them
 * before: whoever has the lost device may be signed in with it. `unknown` if they have no such factor or their sign-in
 * does not count, `last` for the only way in which they can sign in. Returns from when sign-ins count, in seconds since
 * the Unix epoch.
 */
export async function removeFactor(
  database: Database,
  runtime: ChangeRuntime,
  person: SignedInPerson,
  { credentialId, ...origin }: Origin & { readonly credentialId: string },
): Promise<'unknown' | 'last' | { readonly validFrom: number }> {
  return ofSignedIn(database, person, 'unknown', async (tx) => {
    if (credentialId !== '' && (await isLastWayIn(tx, person, credentialId))) return 'last';
    if (!(await deleteFactor(tx, person, credentialId))) return 'unknown';
    if ((await factorsOfUser(tx, person)).length === 0) await forgetRecoveryCodes(tx, person);
    const factor = credentialId === '' ? 'totp' : 'passkey';
    const validFrom = await changePerson(tx, runtime, person, {
      ends: 'all',
      events: [eventOf(person, origin, 'auth.factor.removed', { factor })],
      letters: [`${factor}-removed`],
    });
    return { validFrom };
  });
}

/** Whether a passkey is the person's, and all that lets them in. */
async function isLastWayIn(tx: Queryable, person: PersonId, passkey: string): Promise<boolean> {
  if ((await waysInOf(tx, person, { passkey })).length > 0) return false;
  return (await waysInOf(tx, person)).length > 0;
}

async function deleteFactor(
  tx: Queryable,
  { tenantId, userId }: PersonId,
  credentialId: string,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    credentialId === ''
      ? {
          name: 'directory.remove_totp',
          text: 'DELETE FROM directory.totp WHERE tenant_id = $1 AND user_id = $2',
          values: [tenantId, userId],
        }
      : {
          name: 'directory.remove_passkey',
          text: 'DELETE FROM directory.passkey WHERE tenant_id = $1 AND user_id = $2 AND credential_id = $3',
          values: [tenantId, userId, credentialId],
        },
  );
  return rowCount === 1;
}
