import type { UserRecord } from '../users/fields.ts';
import { withheldPassword } from '../users/claims/withheld-password.ts';
import { givenWays, lostWays } from './lost-ways.ts';
import type { TenantPlan } from './plan.ts';

/** The active people who have no way in after a plan because it takes from them what they signed in with. */
export function withoutWayIn(plan: TenantPlan): UserRecord[] {
  const lost = new Set(lostWays(plan));
  if (lost.size === 0) return [];
  const losing = new Set([...lost].map(({ userId }) => userId));
  const kept = (plan.current?.known ?? []).filter((way) => way.getsMailCode || !lost.has(way));
  const keeping = new Set([...kept, ...givenWays(plan)].map(({ userId }) => userId));
  return plan.desired.users.filter(
    ({ userId, status, passwordHash = withheldPassword }) =>
      losing.has(userId) && !keeping.has(userId) && status === 'active' && passwordHash === withheldPassword,
  );
}
