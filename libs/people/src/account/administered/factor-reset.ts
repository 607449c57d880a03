import { refuseSelf } from '@tessera/directory/ground';
import { eventBase, type AuditEvent } from '@tessera/audit';
import type { UsersService } from '@tessera/proto-gen/admin-users';
import type { Handlers } from '@tessera/rpc';
import type { Database, Queryable } from '@tessera/stores';
import type { PersonId } from '@tessera/directory/ground';
import type { UserRecord } from '@tessera/directory/records';
import { changePerson } from '../../change/change-person.postgres.ts';
import { factorsOfUser, forgetFactors } from '../../change/factors.postgres.ts';
import { ofAnybody } from '../../change/of-anybody.postgres.ts';
import type { ChangeRuntime } from '../../mail/announce.ts';

/**
 * The call of an administrator that removes the app, the codes and the passkeys of a person, and ends what was issued
 * before.
 */
export function factorResetCalls({
  database,
  onChange,
  ...runtime
}: ChangeRuntime & {
  readonly database: Database;
  /** Called after each commit. */
  readonly onChange: () => void;
}): Pick<Handlers<typeof UsersService>, 'resetSecondFactors'> {
  return {
    async resetSecondFactors({ tenantId, userId, etag, validateOnly, impact }, context) {
      const person = { tenantId, userId };
      const origin = eventBase(context);
      refuseSelf(origin, userId, {
        deed: 'reset your own second factors',
        remedy: 'Remove them',
      });
      const answer = await ofAnybody(database, { ...person, etag }, async (tx, record) => {
        if (!validateOnly) return { removed: await removeFactors(tx, runtime, person, origin) };
        const removed = await factorsOfUser(tx, person);
        return { removed, ...(impact && { impact: impactOfReset(record, tenantId, removed) }) };
      });
      if (!validateOnly) onChange();
      return answer;
    },
  };
}

/** A reset ends what was issued to the person, unless there is nothing to remove. */
function impactOfReset({ userId, username }: UserRecord, tenantId: string, removed: readonly string[]) {
  return removed.length === 0
    ? { ends: { tenantId } }
    : { people: 1, usernames: [username], ends: { tenantId, userIds: [userId] } };
}

/**
 * Removes all second factors of a person, and ends what was issued to them before. Call it with the lock on the row of
 * the person. Returns which they had; if none, nothing has ended.
 */
async function removeFactors(
  tx: Queryable,
  runtime: ChangeRuntime,
  person: PersonId,
  origin: Pick<AuditEvent, 'actor' | 'requestId'>,
): Promise<string[]> {
  const { tenantId, userId } = person;
  const removed = await factorsOfUser(tx, person);
  if (removed.length === 0) return removed;
  await forgetFactors(tx, [person]);
  const event = {
    ...origin,
    event: 'auth.factor.removed',
    outcome: 'success',
    tenantId,
    subject: userId,
  } as const;
  await changePerson(tx, runtime, person, {
    ends: 'all',
    events: removed.map((factor) => ({ ...event, details: { factor } })),
    letters: ['factors-removed'],
  });
  return removed;
}
