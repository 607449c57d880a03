import type { Difference, TenantPlan } from './plan.ts';

/** For whom a plan ends everything that was issued before, for good. */
export interface Impact {
  readonly people: number;
  /** The first hundred, in order. */
  readonly usernames: string[];
  readonly applications: number;
  /** The first hundred, in order. */
  readonly clientIds: string[];
}

const mostNames = 100;

/**
 * The people and applications for whom a plan ends what was issued before: those that are deleted or get another status, and people who get
 * another password. With another status of the tenant, everybody. The commands write the same into `valid_from`.
 */
export function impactOf({ current, desired, tenant, users, applications }: TenantPlan): Impact {
  const endsAll =
    tenant === 'deleted' || (current !== undefined && current.tenant.status !== desired.tenant.status);
  const people = endsAll ? (current?.users ?? []) : ended(users, 'passwordHash');
  const clients = endsAll ? (current?.applications ?? []) : ended(applications);
  return {
    people: people.length,
    usernames: firstOf(people.map(({ username }) => username)),
    applications: clients.length,
    clientIds: firstOf(clients.map(({ clientId }) => clientId)),
  };
}

function ended<T extends { readonly status: string }>(
  { updated, deleted }: Difference<T>,
  alsoBy: keyof T = 'status',
): T[] {
  const changed = updated.filter(
    ({ before, after }) => before.status !== after.status || before[alsoBy] !== after[alsoBy],
  );
  return [...changed.map(({ before }) => before), ...deleted];
}

function firstOf(names: readonly string[]): string[] {
  return names.toSorted().slice(0, mostNames);
}
