import { administratorRole } from '@tessera/oauth';
import type { Queryable } from '@tessera/stores';
import { hasNoWayIn, type PersonId } from '@tessera/directory/ground';
import { changesOf, eventsOf, apiOwner, planRecord, type ChangeRecord } from '@tessera/directory/records';
import type { Announce } from '../mail/announce.ts';
import { ownRecord, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';

/**
 * Deletes a person as administration does, tells them, and ends what was issued to them. `unknown` for one whose
 * sign-in does not count, `declared` for one whom a file or a controller declares, `not_allowed` if the tenant lets
 * nobody, `last_administrator` if it would have no other administrator who can sign in.
 */
export async function closeOwnAccount(
  { changeRecord, announce }: { readonly changeRecord: ChangeRecord; readonly announce: Announce },
  person: SignedInPerson,
  { ipAddress, requestId }: Origin,
): Promise<'closed' | 'unknown' | 'declared' | 'not_allowed' | 'last_administrator'> {
  const { tenantId, userId } = person;
  // Of two administrators who leave at once, one is the last.
  return changeRecord(tenantId, 'alone', async ({ tx, tenant, find, carryOut }) => {
    const before = await ownRecord({ tx, find }, person);
    if (before === undefined) return 'unknown';
    if (before.owner !== apiOwner) return 'declared';
    if (tenant?.accountClosing !== true) return 'not_allowed';
    const isAdministrator = before.roles.includes(administratorRole);
    if (isAdministrator && !(await hasOtherAdministrator(tx, { tenantId, userId })))
      return 'last_administrator';
    const plan = planRecord(tenant, 'user', before, undefined);
    const base = { actor: { type: 'user', id: userId }, requestId, ipAddress } as const;
    const { email: to, username, standardClaims } = before;
    const { locale: language = '' } = standardClaims;
    const said = { to, username, language };
    await carryOut({
      plan,
      changes: changesOf(plan),
      events: eventsOf(plan, base),
      tell: () => announce(tx, { tenantId, userId: '' }, 'account-closed', said),
    });
    return 'closed';
  });
}

async function hasOtherAdministrator(tx: Queryable, { tenantId, userId }: PersonId): Promise<boolean> {
  const { rows } = await tx.query({
    name: 'directory.other_administrator',
    text: `SELECT FROM directory.user_role r
             JOIN directory.user_account u ON u.tenant_id = r.tenant_id AND u.user_id = r.user_id
            WHERE r.tenant_id = $1 AND r.role = $2 AND r.user_id <> $3 AND u.status = 'active' AND NOT ${hasNoWayIn('u')} LIMIT 1`,
    values: [tenantId, administratorRole, userId],
  });
  return rows.length === 1;
}
