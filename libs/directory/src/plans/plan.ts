import { isDeepStrictEqual } from 'node:util';
import { endsBy } from '../endings/endings.ts';
import type { NewTotp } from '../factors/declared-totps.ts';
import type { PutIdentity } from '../factors/put-identities.postgres.ts';
import type { PutPasskey } from '../factors/put-passkeys.postgres.ts';
import {
  byList,
  listedKinds,
  recordKinds,
  type ByList,
  type ListedKind,
  type RecordOf,
} from '../record-kinds.ts';
import type { ApplicationRecord } from '../applications/fields.ts';
import { usesOf } from '../applications/declared-use.ts';
import { judgedPeople, vouchOtherwise, type JudgedPerson } from '../providers/judge-emails.ts';
import type { Change } from '../ground/append-changes.postgres.ts';
import { withoutLostMappings } from './lost-mappings.ts';
import { lostWays } from './lost-ways.ts';
import type { PresentState, TenantState } from './tenant-state.ts';
import type { UserRecord } from '../users/fields.ts';

export interface Difference<T> {
  readonly created: readonly T[];
  readonly updated: readonly { readonly before: T; readonly after: T }[];
  readonly deleted: readonly T[];
}

/** Of the records of each kind, by the name of their list. */
type Differences = ByList<{ readonly [K in ListedKind]: Difference<RecordOf[K]> }>;

/** The changes that turn the current state of a tenant into the desired one. */
export interface TenantPlan extends Differences {
  readonly desired: TenantState;
  /** Undefined for a new tenant. */
  readonly current: PresentState | undefined;
  readonly tenant: 'created' | 'updated' | 'unchanged' | 'deleted';
  /** Identifiers of people who lose only what a mapping gave them, whoever owns them. */
  readonly taken: ReadonlySet<string>;
  /** Whose addresses a change of providers judges otherwise. */
  readonly judged: readonly JudgedPerson[];
  /** What it creates was deleted before, and is restored. */
  readonly restores?: true;
  /** The authenticator apps that people get by it. */
  readonly totps?: readonly NewTotp[];
  /** The passkeys that people get by it. */
  readonly passkeys?: readonly PutPasskey[];
  /** What people sign in with at providers by it. */
  readonly bound?: readonly PutIdentity[];
}

export interface PlanCounts {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
}

export function planTenant(current: PresentState | undefined, asked: TenantState): TenantPlan {
  const lost = current && withoutLostMappings(current, asked);
  const desired = lost === undefined || lost.taken.size === 0 ? asked : { ...asked, users: lost.users };
  return {
    desired,
    current,
    taken: lost?.taken ?? new Set(),
    judged: current === undefined ? [] : judgedByProviders(current, desired),
    tenant:
      current === undefined
        ? 'created'
        : isDeepStrictEqual(current.tenant, desired.tenant)
          ? 'unchanged'
          : 'updated',
    ...(byList((kind) => {
      const { list } = recordKinds[kind];
      return compare<object>(kind, current?.[list], desired[list]);
    }) as unknown as Differences),
  };
}

/** Without people of whom the plan itself says whether their addresses are verified. */
function judgedByProviders(current: PresentState, desired: TenantState): JudgedPerson[] {
  if (current.proven.length === 0 || !vouchOtherwise(current.providers, desired.providers)) return [];
  const said = new Map(current.users.map((user) => [user.userId, user.standardClaims.emailVerified]));
  const unsaid = desired.users.filter(
    ({ userId, standardClaims }) => said.has(userId) && said.get(userId) === standardClaims.emailVerified,
  );
  return judgedPeople(unsaid, current.proven, desired.providers);
}

function compare<T extends object>(
  kind: ListedKind,
  before: readonly T[] = [],
  after: readonly T[],
): Difference<T> {
  const { key } = recordKinds[kind];
  const keyOf = (item: T) => (item as Readonly<Record<string, unknown>>)[key];
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
  const differences = listedKinds.map((kind) => plan[recordKinds[kind].list]);
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

/** What a plan ends for good, of what is there after it: where `valid_from` rises. */
interface PlanEnds {
  /** Everything of the tenant. */
  readonly tenant: boolean;
  readonly people: readonly UserRecord[];
  readonly applications: readonly ApplicationRecord[];
}

/** What a plan ends, by the table of endings. */
export function endsOf(plan: TenantPlan): PlanEnds {
  const { current, desired, users, applications } = plan;
  const changed = users.updated.filter(({ before, after }) => endsBy('all', 'user', before, after));
  const ended = new Set(
    [...lostWays(plan), ...changed.map(({ after }) => after)].map(({ userId }) => userId),
  );
  return {
    tenant: current !== undefined && endsBy('all', 'tenant', current.tenant, desired.tenant),
    people: desired.users.filter(({ userId }) => ended.has(userId)),
    applications: applications.updated
      .filter(({ before, after }) => endsBy('all', 'application', before, after))
      .map(({ after }) => after),
  };
}

/**
 * The changes for watchers, who are told of applications and people one by one. A change of the tenant itself, or of
 * anything else in it, stands for everything in it, except for what ended, which is named.
 */
export function changesOf(plan: TenantPlan): Change[] {
  const { current, desired, ...changes } = plan;
  const { tenantId } = desired.tenant;
  const ends = endsOf(plan);
  const people = stopped(ends.people, changes.users);
  const applications = stopped(ends.applications, changes.applications);
  const application = (record: ApplicationRecord): Change => ({
    kind: 'application',
    tenantId,
    id: record.clientId,
    ...(applications.has(record) && { endsAll: true }),
  });
  const user = (record: UserRecord): Change => ({
    kind: 'user',
    tenantId,
    id: record.userId,
    ...(people.has(record) && { endsAll: true }),
  });
  const isConfiguredAsBefore =
    announcesAsBefore(changes.applications) &&
    listedKinds
      .filter((kind) => kind !== 'application' && kind !== 'user')
      .every((kind) => isEmpty<object>(changes[recordKinds[kind].list]));
  if (changes.tenant === 'unchanged' && isConfiguredAsBefore)
    return [...touched(changes.applications).map(application), ...touched(changes.users).map(user)];
  const endsTenant = ends.tenant && current?.tenant.status === 'active';
  return [
    { kind: 'tenant', tenantId, id: '', ...(endsTenant && { endsAll: true }) },
    ...[...applications, ...changes.applications.deleted].map(application),
    ...[...people, ...changes.users.deleted].map(user),
  ];
}

/** Of what ends, without what was not active before: nothing could end. */
function stopped<T extends { readonly status: string }>(
  ends: readonly T[],
  { updated }: Difference<T>,
): ReadonlySet<T> {
  const resting = new Set(
    updated.filter(({ before }) => before.status !== 'active').map(({ after }) => after),
  );
  return new Set(ends.filter((record) => !resting.has(record)));
}

/** Whether the metadata of the issuer may say something else: those who read them look again. */
function announcesAsBefore({ created, updated, deleted }: Difference<ApplicationRecord>): boolean {
  const nothing = [...created, ...deleted].every((record) => usesOf(record).length === 0);
  return nothing && updated.every(({ before, after }) => isDeepStrictEqual(usesOf(before), usesOf(after)));
}

/** The records that a change creates, updates or deletes. */
function touched<T>(difference: Difference<T>): T[] {
  return [...putOf(difference), ...difference.deleted];
}

/** What records have in the place of keys of the declared state. */
const declaredKeys: Readonly<Record<string, string>> = {
  passwordHash: 'password',
  declaredTotp: 'totp',
  declaredPasskeys: 'passkeys',
  declaredIdentities: 'identities',
  sealedSecret: 'clientSecret',
};

/**
 * The names of the fields that differ, as in the declared state, never their values. Standard claims of a user are
 * fields of their own.
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
