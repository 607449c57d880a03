import { adminRoles, isAdministrable } from '@tessera/oauth';
import type { TenantPlan } from './plan.ts';

/** A person as it counts here. */
interface Holder {
  readonly username: string;
  readonly roles: readonly string[];
}

const mostNamed = 10;

/**
 * What is said of people who have built-in roles in a tenant that nobody administers; undefined if there is nothing to
 * say.
 */
export function withoutEffect(
  tenant: Parameters<typeof isAdministrable>[0],
  people: readonly Holder[],
  operatorTenant: string | undefined,
): string | undefined {
  if (isAdministrable(tenant, operatorTenant)) return undefined;
  const holders = people
    .map(({ username, roles }) => ({ username, powers: roles.filter((role) => adminRoles.has(role)) }))
    .filter(({ powers }) => powers.length > 0)
    .map(({ username, powers }) => `${username} (${powers.join(', ')})`);
  if (holders.length === 0) return undefined;
  const rest = holders.length - mostNamed;
  const named = [...holders.slice(0, mostNamed), ...(rest > 0 ? [`${rest} more`] : [])].join(', ');
  return (
    `${named} can administer nothing: ${tenant.tenantId} has no issuer of its own and is not the operator tenant ` +
    '(TESSERA_OPERATOR_TENANT); give it an issuer, or give the role in the operator tenant'
  );
}

/**
 * What is said of a plan by which people get such roles, or their tenant stops being administered; empty if there is
 * nothing to say.
 */
export function warningsOf(
  { current, desired }: Pick<TenantPlan, 'current' | 'desired'>,
  operatorTenant: string | undefined,
): string[] {
  const isKnown = current !== undefined && !isAdministrable(current.tenant, operatorTenant);
  const before = new Map(isKnown ? current.users.map(({ userId, roles }) => [userId, roles]) : []);
  const people = desired.users.map(({ userId, username, roles }) => ({
    username,
    roles: roles.filter((role) => before.get(userId)?.includes(role) !== true),
  }));
  return [withoutEffect(desired.tenant, people, operatorTenant) ?? []].flat();
}
