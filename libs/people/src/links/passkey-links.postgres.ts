import type { Database, Queryable } from '@tessera/stores';
import { hasNoWayIn, noteAdministered, type PersonId, lockTenant } from '@tessera/directory/ground';
import { type EnrolledPasskey, insertFirstPasskey } from '../passkey/passkeys.postgres.ts';
import { changePerson } from '../change/change-person.postgres.ts';
import { eventOf, type Origin } from '../change/own-change.postgres.ts';
import type { ChangeRuntime } from '../mail/announce.ts';
import { proveMailedAddress } from './mailed-links.postgres.ts';
import { linked, takeLink, usable, type PresentedLink } from './password-links.postgres.ts';

/**
 * SQL: an invitation of somebody who has nothing to sign in with. People who have something add to it at the account
 * page. Who has an app, from when they had a way in, sets a password and proves the app: a passkey would stand for
 * both.
 */
const invites = `${usable} AND l.purpose = 'invitation' AND ${hasNoWayIn('u')}
  AND NOT EXISTS (SELECT FROM directory.totp f WHERE f.tenant_id = u.tenant_id AND f.user_id = u.user_id)`;

/** Undefined for any other link. */
export async function findInvited(
  database: Queryable,
  { digest, tenantId }: PresentedLink,
): Promise<(PersonId & { readonly username: string }) | undefined> {
  const { rows } = await database.query<{ tenant_id: string; user_id: string; username: string }>({
    name: 'directory.find_invited',
    text: `SELECT l.tenant_id, l.user_id, u.username FROM ${linked} WHERE ${invites}`,
    values: [digest, tenantId],
  });
  const [row] = rows;
  return row && { tenantId: row.tenant_id, userId: row.user_id, username: row.username };
}

/**
 * Uses up an invitation and enrols the first passkey of its person, in one commit. False if another call was faster, or
 * the link is no longer valid.
 */
export async function redeemInvitation(
  database: Database,
  runtime: ChangeRuntime,
  presented: PresentedLink,
  person: PersonId,
  made: Origin & { readonly passkey: EnrolledPasskey },
): Promise<boolean> {
  const { tenantId } = person;
  return database.transaction(async (tx) => {
    await lockTenant(tx, tenantId, 'together');
    // Other links of theirs end, as those to what was issued before.
    const used = await takeLink(tx, presented, { kind: 'invitation', condition: invites });
    if (used === undefined) return false;
    const { passkey, ...origin } = made;
    const proven = await proveMailedAddress(tx, person, {
      ...origin,
      ...used.sent,
      digest: presented.digest,
    });
    const added = await insertFirstPasskey(tx, person, { passkey, ...origin });
    await noteAdministered(tx, tenantId);
    const event = eventOf(person, origin, 'auth.link.used', { purpose: 'invitation' });
    await changePerson(tx, runtime, person, { ends: 'all', events: [event, ...proven, added] });
    return true;
  });
}
