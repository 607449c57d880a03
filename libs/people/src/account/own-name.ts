import {
  changesOf,
  eventsOf,
  apiOwner,
  planRecord,
  type ChangeRecord,
  user,
} from '@tessera/directory/records';
import { ownRecord, type Origin, type SignedInPerson } from '../change/own-change.postgres.ts';

/**
 * Gives a person another name. `unknown` for one whose sign-in does not count, `declared` for one whom a file or a
 * controller declares, `text` for a name that is empty or too long. Their sign-ins stay as they are.
 */
export async function changeOwnName(
  changeRecord: ChangeRecord,
  person: SignedInPerson,
  { name: typed, ipAddress, requestId }: Origin & { readonly name: string },
): Promise<'changed' | 'unknown' | 'declared' | 'text'> {
  const name = typed.trim();
  if (name === '' || !user.shape.name.safeParse(name).success) return 'text';
  return changeRecord(person.tenantId, 'together', async (around) => {
    const before = await ownRecord(around, person);
    if (before === undefined) return 'unknown';
    if (before.owner !== apiOwner) return 'declared';
    const plan = planRecord(around.tenant, 'user', before, { ...before, name });
    const base = { actor: { type: 'user', id: person.userId }, requestId, ipAddress } as const;
    await around.carryOut({ plan, changes: changesOf(plan), events: eventsOf(plan, base) });
    return 'changed';
  });
}
