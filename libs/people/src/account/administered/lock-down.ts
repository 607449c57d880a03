import { eventBase } from '@tessera/audit';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import type { Handlers } from '@tessera/rpc';
import type { Database, Queryable } from '@tessera/stores';
import { type PersonId, type WayIn, waysInOf, refuseSelf } from '@tessera/directory/ground';
import { changePerson } from '../../change/change-person.postgres.ts';
import { factorsOfUser, forgetFactors } from '../../change/factors.postgres.ts';
import { ofAnybody } from '../../change/of-anybody.postgres.ts';
import type { ChangeRuntime } from '../../mail/announce.ts';
import { emailLinks } from '../../one-time/one-time-values.postgres.ts';
import { newPassword } from '../../password/change-password.postgres.ts';
import { waysLeft } from './ways-left.ts';

/** What whoever took the account over may know or hold. */
const removable: readonly string[] = ['password', 'passkey'] satisfies WayIn[];

/**
 * The call of an administrator that shuts everybody out of an account. Throws NotFound, Aborted for another version,
 * and FailedPrecondition for the caller themselves, whom nobody else may be left to let in again.
 */
export function createLockDown({
  database,
  sendsMail,
  onChange,
  ...runtime
}: ChangeRuntime & {
  readonly database: Database;
  /** Whether people can ask for a new password by mail. */
  readonly sendsMail: boolean;
  /** Called after each commit. */
  readonly onChange: () => void;
}): Handlers<typeof UsersService>['lockDown'] {
  return async ({ tenantId, userId, etag, validateOnly, impact }, context) => {
    const person = { tenantId, userId };
    const origin = eventBase(context);
    refuseSelf(origin, userId, {
      deed: 'lock yourself down',
      remedy: 'Change your password and end your sessions',
    });
    const answer = await ofAnybody(database, { ...person, etag }, async (tx, record) => {
      const { passwordHash, username, email } = record;
      const factors = await factorsOfUser(tx, person);
      const removed = [...(passwordHash === undefined ? [] : ['password']), ...factors].filter((way) =>
        removable.includes(way),
      );
      const left = (await waysInOf(tx, person)).filter((way) => !removable.includes(way));
      if (!validateOnly) {
        await shutOut(tx, person);
        const event = { ...origin, event: 'auth.locked_down', outcome: 'success' } as const;
        const details = { removed: removed.join(' ') };
        await changePerson(tx, runtime, person, {
          ends: 'all',
          locksDown: true,
          events: [{ ...event, tenantId, subject: userId, details }],
          letters: ['locked-down'],
        });
      }
      const ends = { people: 1, usernames: [username], ends: { tenantId, userIds: [userId] } };
      return { removed, waysLeft: waysLeft(left, { email, sendsMail }), ...(impact && { impact: ends }) };
    });
    if (!validateOnly) onChange();
    return answer;
  };
}

/** Links to a password end as everything else that was issued. */
async function shutOut(tx: Queryable, person: PersonId): Promise<void> {
  const { tenantId, userId } = person;
  await tx.query({
    name: 'directory.remove_password',
    text: `UPDATE directory.user_account u SET ${newPassword('NULL')} WHERE u.tenant_id = $1 AND u.user_id = $2`,
    values: [tenantId, userId],
  });
  await forgetFactors(tx, [person], ['passkey']);
  // An address that somebody else proposed would get the links with which the person comes back.
  await emailLinks.end(tx, { tenantId, holder: { user_id: userId } });
}
