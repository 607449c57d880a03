import type { TenantPlan } from '../../plans/plan.ts';
import { withoutWayIn } from '../../plans/without-way-in.ts';
import { differencesOf } from './plan-differences.ts';
import { unallowedDeletions } from './unallowed-changes.ts';

/**
 * A plan deletes records, or leaves people without a way in, and its caller did not allow it. The message lists them by
 * kind and name.
 */
export class DeletionsNotAllowedError extends Error {
  override readonly name = 'DeletionsNotAllowedError';
}

/** Throws DeletionsNotAllowedError for a plan with deletions that must be allowed, or that leaves people shut out. */
export function refuseDeletions(plan: TenantPlan): void {
  const { tenantId } = plan.desired.tenant;
  const refusal = unallowedDeletions({
    deletions: differencesOf(plan)
      .filter(({ needsAllowDelete }) => needsAllowDelete)
      .map(({ kind, name }) => ({ tenantId, kind, name })),
    shutOut: withoutWayIn(plan).map(({ username: name }) => ({ tenantId, kind: 'user', name })),
  });
  if (refusal !== undefined) throw new DeletionsNotAllowedError(refusal);
}
