import type { PersonId } from '@tessera/directory/ground';
import {
  changesOf,
  eventsOf,
  apiOwner,
  planRecord,
  type ChangeRecord,
  user,
} from '@tessera/directory/records';
import type { Origin } from '../change/own-change.postgres.ts';

/**
 * Gives a person another name. `unknown` for one who is not active, `declared` for one whom a file or a controller
 * declares, `text` for a name that is empty or too long. Their sign-ins stay as they are.
 */
export async function changeOwnName(
  changeRecord: ChangeRecord,
  { tenantId, userId }: PersonId,
  { name: typed, ipAddress, requestId }: Origin & { readonly name: string },
): Promise<'changed' | 'unknown' | 'declared' | 'text'> {
  const name = typed.trim();
  if (name === '' || !user.shape.name.safeParse(name).success) return 'text';
  return changeRecord(tenantId, 'together', async ({ tenant, find, carryOut }) => {
    const before = (await find('user', userId))?.record;
    if (before?.status !== 'active' || tenant?.status !== 'active') return 'unknown';
    if (before.owner !== apiOwner) return 'declared';
    const plan = planRecord(tenant, 'user', before, { ...before, name });
    const base = { actor: { type: 'user', id: userId }, requestId, ipAddress } as const;
    await carryOut({ plan, changes: changesOf(plan), events: eventsOf(plan, base) });
    return 'changed';
  });
}
