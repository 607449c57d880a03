import { differencesOf, type RecordDifference } from './plan-differences.ts';
import type { TenantPlan } from '../plans/plan.ts';
import { withoutWayIn } from '../plans/without-way-in.ts';

/** Of the list in the message, in characters: it travels in a gRPC trailer and fits into a log line. */
const maxListLength = 3000;

/**
 * A plan deletes records, or leaves people without a way in, and its caller did not allow it. The message lists them by
 * kind and name.
 */
export class DeletionsNotAllowedError extends Error {
  override readonly name = 'DeletionsNotAllowedError';
}

/**
 * Throws DeletionsNotAllowedError for plans with deletions that must be allowed, or that leave people without a way in.
 * @param earlier tenants of the same file that have been applied already
 */
export function refuseDeletions(plans: readonly TenantPlan[], earlier: readonly string[] = []): void {
  const deletions = plans.flatMap((plan) =>
    differencesOf(plan)
      .filter(({ needsAllowDelete }) => needsAllowDelete)
      .map((difference) => lineOf(plan, difference)),
  );
  const shutOut = plans.flatMap((plan) =>
    withoutWayIn(plan).map(({ username: name }) => lineOf(plan, { kind: 'user', name })),
  );
  const reasons = [
    { of: deletions, reason: 'the declared state leaves out records, and applying it would delete them' },
    {
      of: shutOut,
      reason: 'without the provider that goes or gets another issuer, people would have no way in',
    },
  ].filter(({ of }) => of.length > 0);
  if (reasons.length === 0) return;
  const lists = reasons.map(({ of, reason }) => `${reason}:\n${shortened(of)}\n`);
  throw new DeletionsNotAllowedError(
    `${refusalOf(earlier)}: ${lists.join('And ')}` +
      'Declare them, or allow the deletion: `tessera apply --allow-delete`, `state.allowDelete` of the chart, or ' +
      'TESSERA_APPLY_ALLOW=delete for TESSERA_APPLY_FILE. A deleted person who is declared again gets a new `sub`; `tessera user restore` brings back the old one for 30 days.',
  );
}

function lineOf(plan: TenantPlan, { kind, name }: Pick<RecordDifference, 'kind' | 'name'>): string {
  return `${plan.desired.tenant.tenantId}: ${kind} ${name}`;
}

/** How a refusal begins: what of a file was applied before. */
export function refusalOf(earlier: readonly string[]): string {
  return earlier.length === 0 ? 'Nothing was applied' : `Only ${earlier.join(', ')} was applied`;
}

/** A list, as long as an error message may be. */
export function shortened(lines: readonly string[]): string {
  let length = 0;
  const shown = lines.filter((line) => (length += line.length + 1) <= maxListLength);
  const rest = lines.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more (\`tessera diff\` lists all)`] : [])].join('\n');
}
