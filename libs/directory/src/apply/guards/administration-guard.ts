import { adminRoles, adminScopes } from '@tessera/oauth';
import type { TenantState } from '../../plans/tenant-state.ts';
import type { UserRecord } from '../../users/fields.ts';
import type { TenantPlan } from '../../plans/plan.ts';
import {
  newlyControlling,
  valuesControllingApplication,
  valuesControllingPerson,
  valuesOfProviders,
  type ControllingValue,
} from './controlling-values.ts';
import { unallowedAdministration } from './unallowed-changes.ts';

/**
 * A plan gives powers over the administration, and its caller did not allow it. The message lists who would get which.
 */
export class AdministrationNotAllowedError extends Error {
  override readonly name = 'AdministrationNotAllowedError';
}

/** Who would get which built-in roles, or scopes, of the administration. */
export interface GivenAdministration {
  readonly kind: 'user' | 'application';
  readonly name: string;
  readonly powers: string[];
  /** Keys of the declared state, if somebody else may get powers that they hold. */
  readonly by: string[];
}

interface Holder extends Omit<GivenAdministration, 'powers' | 'by'> {
  readonly key: string;
  readonly powers: readonly string[];
  readonly isActive: boolean;
  readonly controlledBy: readonly ControllingValue[];
}

/**
 * The powers over the administration that somebody has after a plan and had not before, in the order of the declared
 * state. Who holds one and becomes active, alone or with their tenant, gets it too, and so does an application whose
 * scope was one of an API of the tenant that is no longer there. Who declares a value that controls a holder gets what
 * that has; who administers a tenant gets it by another issuer of the tenant.
 */
export function administrationOf({ current, desired }: TenantPlan): GivenAdministration[] {
  const before = new Map(holdersIn(current).map((holder) => [holder.key, holder]));
  const { issuer } = desired.tenant;
  // The owner of the host of a declared issuer gets what administrators type there.
  const isMoved = current !== undefined && issuer !== '' && issuer !== current.tenant.issuer;
  return holdersIn(desired).flatMap(({ key, kind, name, powers, isActive, controlledBy }) => {
    const earlier = before.get(key);
    const by = [
      ...(isMoved && isActive ? ['issuer'] : []),
      // Of who is not active, too: a value that is new lets in as soon as somebody activates them.
      ...(earlier === undefined ? [] : newlyControlling(earlier.controlledBy, controlledBy)),
    ];
    const isKept = (power: string): boolean =>
      earlier !== undefined &&
      earlier.powers.includes(power) &&
      by.length === 0 &&
      (!isActive || earlier.isActive);
    const given = powers.filter((power) => !isKept(power));
    return given.length === 0 ? [] : [{ kind, name, powers: given, by }];
  });
}

/** Whether a person holds a built-in role. */
export function administers(user: Pick<UserRecord, 'roles'>): boolean {
  return user.roles.some((role) => adminRoles.has(role));
}

function holdersIn(state: TenantState | undefined): Holder[] {
  if (state === undefined) return [];
  // A scope that an API of the tenant declares is that one.
  const own = new Set(state.resources.flatMap(({ scopes }) => scopes.map(({ name }) => name)));
  const isActive = (status: string): boolean => status === 'active' && state.tenant.status === 'active';
  const people = state.users.map((user): Holder => {
    const powers = user.roles.filter((role) => adminRoles.has(role));
    const { userId, username: name, status } = user;
    const controlledBy = [...valuesControllingPerson(user), ...valuesOfProviders(user, state)];
    return { key: `user ${userId}`, kind: 'user', name, powers, isActive: isActive(status), controlledBy };
  });
  const applications = state.applications.map((application): Holder => {
    const { clientId: name, scopes, status } = application;
    const powers = scopes.filter((scope) => adminScopes.has(scope) && !own.has(scope));
    const controlledBy = valuesControllingApplication(application);
    const key = `application ${name}`;
    return { key, kind: 'application', name, powers, isActive: isActive(status), controlledBy };
  });
  return [...people, ...applications].filter(({ powers }) => powers.length > 0);
}

/** Throws AdministrationNotAllowedError for a plan that gives powers over the administration. */
export function refuseAdministration(plan: TenantPlan): void {
  const { tenantId } = plan.desired.tenant;
  const refusal = unallowedAdministration(administrationOf(plan).map((given) => ({ tenantId, ...given })));
  if (refusal !== undefined) throw new AdministrationNotAllowedError(refusal);
}
