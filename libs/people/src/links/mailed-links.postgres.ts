import type { Queryable } from '@tessera/stores';
import type { AuditEvent } from '@tessera/audit';
import type { PersonId } from '@tessera/directory/ground';
import { apiOwner, mailedLink, normalizeIdentifier, putEmailProof } from '@tessera/directory/records';
import { eventOf, type Origin } from '../change/own-change.postgres.ts';

/** What is kept with a link: that it, and no other one, is mailed to an address; empty for one that is handed out. */
export function mailedAs(digest: Buffer, address: string | undefined): string {
  return address === undefined ? '' : `${digest.toString('hex')} ${normalizeIdentifier(address)}`;
}

/**
 * What a link proves that its person has followed: that the address is theirs to which it was mailed, if they still
 * have it. A record that a file declares says itself whether the address is verified. To be called in a transaction
 * that has the row of the person. Returns what happened.
 * @param mailed as `mailedAs` said when the link was made
 * @param email of the person
 */
export async function proveMailedAddress(
  tx: Queryable,
  person: PersonId,
  {
    digest,
    mailed,
    email,
    ...origin
  }: Origin & { readonly digest: Buffer; readonly mailed: string; readonly email: string },
): Promise<AuditEvent[]> {
  if (mailed !== mailedAs(digest, email)) return [];
  const { tenantId, userId } = person;
  const { rowCount } = await tx.query({
    name: 'directory.verify_mailed_address',
    text: `UPDATE directory.user_account
              SET standard_claims = standard_claims || '{"emailVerified": true}', updated_at = clock_timestamp()
            WHERE tenant_id = $1 AND user_id = $2 AND owner = $3 AND NOT standard_claims @> '{"emailVerified": true}'`,
    values: [tenantId, userId, apiOwner],
  });
  await putEmailProof(tx, person, email, mailedLink);
  const details = { changed: 'emailVerified', owner: apiOwner };
  return rowCount > 0 ? [eventOf(person, origin, 'user.updated', details)] : [];
}
