import { isDeepStrictEqual } from 'node:util';
import type { ApplicationRecord } from '../applications/fields.ts';
import type { ProviderRecord } from '../providers/fields.ts';
import type { ResourceRecord } from '../resources/fields.ts';
import type { RoleRecord } from '../roles/fields.ts';
import type { Change } from '../ground/append-changes.postgres.ts';
import type { TenantState } from './tenant-state.ts';
import type { UserRecord } from '../users/fields.ts';

export interface Difference<T> {
  readonly created: readonly T[];
  readonly updated: readonly { readonly before: T; readonly after: T }[];
  readonly deleted: readonly T[];
}

/** The changes that turn the current state of a tenant into the desired one. */
export interface TenantPlan {
  readonly desired: TenantState;
  /** Undefined for a new tenant. */
  readonly current: TenantState | undefined;
  readonly tenant: 'created' | 'updated' | 'unchanged' | 'deleted';
  readonly resources: Difference<ResourceRecord>;
  readonly roles: Difference<RoleRecord>;
  readonly providers: Difference<ProviderRecord>;
  readonly users: Difference<UserRecord>;
  readonly applications: Difference<ApplicationRecord>;
  /** What it creates was deleted before, and is restored. */
  readonly restores?: true;
}

export interface PlanCounts {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
}

export function planTenant(current: TenantState | undefined, desired: TenantState): TenantPlan {
  return {
    desired,
    current,
    tenant:
      current === undefined
        ? 'created'
        : isDeepStrictEqual(current.tenant, desired.tenant)
          ? 'unchanged'
          : 'updated',
    resources: compare(current?.resources, desired.resources, (resource) => resource.audience),
    roles: compare(current?.roles, desired.roles, (role) => role.name),
    providers: compare(current?.providers, desired.providers, (provider) => provider.name),
    users: compare(current?.users, desired.users, (user) => user.userId),
    applications: compare(current?.applications, desired.applications, (application) => application.clientId),
  };
}

function compare<T>(
  before: readonly T[] = [],
  after: readonly T[],
  keyOf: (item: T) => string,
): Difference<T> {
  const known = new Map(before.map((item) => [keyOf(item), item]));
  const kept = new Set(after.map(keyOf));
  const created: T[] = [];
  const updated: { before: T; after: T }[] = [];
  for (const item of after) {
    const earlier = known.get(keyOf(item));
    if (earlier === undefined) created.push(item);
    else if (!isDeepStrictEqual(earlier, item)) updated.push({ before: earlier, after: item });
  }
  return { created, updated, deleted: before.filter((item) => !kept.has(keyOf(item))) };
}

/** Every tenant, API resource, role, provider, user and application that changes counts once. */
export function countPlan(plan: TenantPlan): PlanCounts {
  const differences = [plan.resources, plan.roles, plan.providers, plan.users, plan.applications];
  const sum = (kind: keyof Difference<unknown>) =>
    differences.reduce((total, difference) => total + difference[kind].length, 0);
  return {
    created: sum('created') + (plan.tenant === 'created' ? 1 : 0),
    updated: sum('updated') + (plan.tenant === 'updated' ? 1 : 0),
    deleted: sum('deleted') + (plan.tenant === 'deleted' ? 1 : 0),
  };
}

function isEmpty<T>({ created, updated, deleted }: Difference<T>): boolean {
  return created.length + updated.length + deleted.length === 0;
}

/**
 * The changes for watchers. A change of the tenant itself, its resources, roles or providers stands for everything in it, except for
 * what ended, which is named.
 */
export function changesOf(plan: TenantPlan): Change[] {
  const { tenantId } = plan.desired.tenant;
  const application = ({ clientId: id }: ApplicationRecord): Change => ({
    kind: 'application',
    tenantId,
    id,
  });
  const user = ({ userId: id }: UserRecord): Change => ({ kind: 'user', tenantId, id });
  const repassworded = new Set(
    plan.users.updated
      .filter(({ before, after }) => before.passwordHash !== after.passwordHash)
      .map(({ after }) => after),
  );
  const userChange = (record: UserRecord): Change =>
    repassworded.has(record) ? { ...user(record), endsAll: true } : user(record);
  const isConfiguredAsBefore = isEmpty(plan.resources) && isEmpty(plan.roles) && isEmpty(plan.providers);
  if (plan.tenant === 'unchanged' && isConfiguredAsBefore) {
    return [...touched(plan.applications).map(application), ...touched(plan.users).map(userChange)];
  }
  const users = new Set([...ended(plan.users), ...repassworded]);
  return [
    { kind: 'tenant', tenantId, id: '' },
    ...ended(plan.applications).map(application),
    ...[...users].map(userChange),
  ];
}

function ended<T extends { readonly status: string }>({ updated, deleted }: Difference<T>): T[] {
  const stopped = updated.filter(
    ({ before, after }) => before.status !== after.status && after.status !== 'active',
  );
  return [...stopped.map(({ after }) => after), ...deleted];
}

/** The records that a change creates, updates or deletes. */
function touched<T>(difference: Difference<T>): T[] {
  return [...putOf(difference), ...difference.deleted];
}

/** What records have in the place of keys of the declared state. */
const declaredKeys: Readonly<Record<string, string>> = {
  passwordHash: 'password',
  sealedSecret: 'clientSecret',
};

/**
 * The names of the fields that differ, as in the declared state, never their values. Standard claims of a user are fields of their own.
 */
export function changedFields(before: object, after: object): string[] {
  const fields = { before: fieldsOf(before), after: fieldsOf(after) };
  const names = new Set([...fields.after.keys(), ...fields.before.keys()]);
  return [...names]
    .filter((name) => !isDeepStrictEqual(fields.before.get(name), fields.after.get(name)))
    .map((name) => declaredKeys[name] ?? name);
}

function fieldsOf({ standardClaims = {}, ...record }: { readonly standardClaims?: object }) {
  return new Map<string, unknown>([...Object.entries(record), ...Object.entries(standardClaims)]);
}

/** The records that exist after the change, and did not or were different before. */
export function putOf<T>({ created, updated }: Difference<T>): T[] {
  return [...created, ...updated.map(({ after }) => after)];
}
