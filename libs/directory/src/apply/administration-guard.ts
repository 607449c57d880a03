import { adminRoles, adminScopes } from '@tessera/oauth';
import type { TenantState } from '../plans/tenant-state.ts';
import { refusalOf, shortened } from './deletion-guard.ts';
import type { TenantPlan } from '../plans/plan.ts';

/** A plan gives powers over the administration, and its caller did not allow it. The message lists who would get which. */
export class AdministrationNotAllowedError extends Error {
  override readonly name = 'AdministrationNotAllowedError';
}

/** Who would get which built-in roles, or scopes, of the administration. */
export interface GivenAdministration {
  readonly kind: 'user' | 'application';
  readonly name: string;
  readonly powers: string[];
}

interface Holder extends Omit<GivenAdministration, 'powers'> {
  readonly key: string;
  readonly powers: readonly string[];
  readonly isActive: boolean;
}

/**
 * The powers over the administration that somebody has after a plan and had not before, in the order of the declared state. Who holds one and
 * becomes active, alone or with their tenant, gets it too, and so does an application whose scope was one of an API of the tenant that is no
 * longer there.
 */
export function administrationOf({ current, desired }: TenantPlan): GivenAdministration[] {
  const before = new Map(holdersIn(current).map((holder) => [holder.key, holder]));
  return holdersIn(desired).flatMap(({ key, kind, name, powers, isActive }) => {
    const earlier = before.get(key);
    const isKept = (power: string): boolean =>
      earlier !== undefined && earlier.powers.includes(power) && (earlier.isActive || !isActive);
    const given = powers.filter((power) => !isKept(power));
    return given.length === 0 ? [] : [{ kind, name, powers: given }];
  });
}

function holdersIn(state: TenantState | undefined): Holder[] {
  if (state === undefined) return [];
  // A scope that an API of the tenant declares is that one.
  const own = new Set(state.resources.flatMap(({ scopes }) => scopes.map(({ name }) => name)));
  const isActive = (status: string): boolean => status === 'active' && state.tenant.status === 'active';
  const people = state.users.map(({ userId, username, roles, status }): Holder => {
    const powers = roles.filter((role) => adminRoles.has(role));
    return { key: `user ${userId}`, kind: 'user', name: username, powers, isActive: isActive(status) };
  });
  const applications = state.applications.map(({ clientId, scopes, status }): Holder => {
    const powers = scopes.filter((scope) => adminScopes.has(scope) && !own.has(scope));
    const key = `application ${clientId}`;
    return { key, kind: 'application', name: clientId, powers, isActive: isActive(status) };
  });
  return [...people, ...applications].filter(({ powers }) => powers.length > 0);
}

/**
 * Throws AdministrationNotAllowedError for plans that give powers over the administration.
 * @param earlier tenants of the same file that have been applied already
 */
export function refuseAdministration(plans: readonly TenantPlan[], earlier: readonly string[] = []): void {
  const lines = plans.flatMap((plan) =>
    administrationOf(plan).map(
      ({ kind, name, powers }) => `${plan.desired.tenant.tenantId}: ${kind} ${name}: ${powers.join(', ')}`,
    ),
  );
  if (lines.length === 0) return;
  throw new AdministrationNotAllowedError(
    `${refusalOf(earlier)}: applying the declared state would give powers over the administration:\n${shortened(lines)}\n` +
      'Remove these roles and scopes, or allow it: `tessera apply --allow-administration`, `state.allowAdministration` of the chart, or ' +
      'TESSERA_APPLY_ALLOW_ADMINISTRATION=yes for TESSERA_APPLY_FILE.',
  );
}
