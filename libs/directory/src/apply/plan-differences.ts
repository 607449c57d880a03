import { changedFields, type Difference, type TenantPlan } from '../plans/plan.ts';
import type { DeclaredKind } from '../plans/tenant-state.ts';

/** A record that a plan changes, by its name in the declared state and without its values. */
export interface RecordDifference {
  readonly kind: DeclaredKind;
  readonly name: string;
  readonly change: 'created' | 'updated' | 'deleted';
  /** Keys of the declared state; empty unless it is updated. */
  readonly keys: string[];
  /** A deletion that must be allowed. */
  readonly needsAllowDelete: boolean;
  /** Of a person who is created: one with that user name was deleted and can be restored. */
  readonly wasDeleted: boolean;
}

/** Applications store the `sub` of people and clients their own identifier: no deletion of these goes unasked. */
const alwaysGuarded: ReadonlySet<RecordDifference['kind']> = new Set(['user', 'application']);

/** The share of the other kinds of which a plan may delete records unasked. */
const freeShare = 0.1;

/**
 * Every change of a plan, in the order of the declared state.
 * @param namesakes user names of created people
 */
export function differencesOf(
  { current, desired, ...plan }: TenantPlan,
  namesakes: readonly string[] = [],
): RecordDifference[] {
  const deletedBefore = new Set(namesakes);
  const users = named('user', plan.users, current?.users, ({ username }) => username);
  return [
    ...tenantDifference(plan.tenant, current?.tenant, desired.tenant),
    ...named('resource', plan.resources, current?.resources, ({ audience }) => audience),
    ...named('role', plan.roles, current?.roles, ({ name }) => name),
    ...named('provider', plan.providers, current?.providers, ({ name }) => name),
    ...users.map((user) => ({
      ...user,
      wasDeleted: user.change === 'created' && deletedBefore.has(user.name),
    })),
    ...named('application', plan.applications, current?.applications, ({ clientId }) => clientId),
  ];
}

function tenantDifference(
  change: TenantPlan['tenant'],
  before: TenantPlan['desired']['tenant'] | undefined,
  after: TenantPlan['desired']['tenant'],
): RecordDifference[] {
  if (change === 'unchanged') return [];
  const keys = change === 'updated' ? keysThatDiffer(before, after) : [];
  return [{ kind: 'tenant', name: after.tenantId, change, keys, needsAllowDelete: false, wasDeleted: false }];
}

function named<T>(
  kind: RecordDifference['kind'],
  { created, updated, deleted }: Difference<T>,
  current: readonly T[] = [],
  nameOf: (record: T) => string,
): RecordDifference[] {
  const isGuarded = alwaysGuarded.has(kind) || deleted.length > current.length * freeShare;
  const difference = (
    record: T,
    change: RecordDifference['change'],
    keys: string[] = [],
  ): RecordDifference => ({
    kind,
    name: nameOf(record),
    change,
    keys,
    needsAllowDelete: change === 'deleted' && isGuarded,
    wasDeleted: false,
  });
  return [
    ...created.map((record) => difference(record, 'created')),
    ...updated.map(({ before, after }) => difference(after, 'updated', keysThatDiffer(before, after))),
    ...deleted.map((record) => difference(record, 'deleted')),
  ];
}

function keysThatDiffer(before: unknown, after: unknown): string[] {
  if (!isRecord(before) || !isRecord(after)) return [];
  return changedFields(before, after);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
