import type { UserRecord } from '../users/fields.ts';
import { lostProviders, type TenantPlan } from './plan.ts';

/** The active people who have no way in after a plan because the providers by which they signed in are gone. */
export function withoutWayIn(plan: TenantPlan): UserRecord[] {
  const { current, desired } = plan;
  const lost = lostProviders(plan);
  if (lost.size === 0) return [];
  const identities = current?.known ?? [];
  const losing = new Set(identities.filter(({ provider }) => lost.has(provider)).map(({ userId }) => userId));
  const keeping = new Set(
    identities
      .filter(({ provider, hasOtherWay }) => hasOtherWay || !lost.has(provider))
      .map(({ userId }) => userId),
  );
  return desired.users.filter(
    ({ userId, status, passwordHash }) =>
      losing.has(userId) && !keeping.has(userId) && status === 'active' && passwordHash === undefined,
  );
}
