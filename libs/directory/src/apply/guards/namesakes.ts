import type { Queryable } from '@tessera/stores';
import { deletedNames } from '../../deleted/deleted-records.postgres.ts';
import { normalizeIdentifier } from '../../users/identifiers.ts';
import type { TenantPlan } from '../../plans/plan.ts';

/**
 * The user names of people whom a plan creates although somebody of that name was deleted and can be restored. It may
 * be another human, so they get another `sub`, and whoever applies it is told.
 */
export async function namesakesOf(
  queryable: Queryable,
  { desired, users }: TenantPlan,
): Promise<readonly string[]> {
  const names = users.created.map(({ username }) => username);
  const { tenantId } = desired.tenant;
  const deleted = await deletedNames(queryable, 'user', tenantId, names.map(normalizeIdentifier));
  return names.filter((name) => deleted.has(normalizeIdentifier(name)));
}
