import { listedKinds, recordKinds, recordName, type Kind, type ListedKind } from '../../record-kinds.ts';
import { changedFields, type Difference, type TenantPlan } from '../../plans/plan.ts';

/** A record that a plan changes, by its name in the declared state and without its values. */
export interface RecordDifference {
  readonly kind: Kind;
  readonly name: string;
  readonly change: 'created' | 'updated' | 'deleted';
  /** Keys of the declared state; empty unless it is updated. */
  readonly keys: string[];
  /** A deletion that must be allowed. */
  readonly needsAllowDelete: boolean;
  /** Of a person who is created: one with that user name was deleted and can be restored. */
  readonly wasDeleted: boolean;
}

/** The share of a kind that nobody else stores of which a plan may delete records unasked. */
const freeShare = 0.1;

/**
 * Whether deletions of records of a kind must be allowed.
 * @param present how many records of the kind the tenant has
 */
export function isGuardedDeletion(kind: ListedKind, deleted: number, present: number): boolean {
  return recordKinds[kind].isStoredElsewhere || deleted > present * freeShare;
}

/**
 * Every change of a plan, in the order of the declared state.
 * @param namesakes user names of created people
 */
export function differencesOf(plan: TenantPlan, namesakes: readonly string[] = []): RecordDifference[] {
  const { current, desired, tenant } = plan;
  const deletedBefore = new Set(namesakes);
  return [
    ...tenantDifference(tenant, current?.tenant, desired.tenant),
    ...listedKinds.flatMap((kind) => differencesOfKind(plan, kind, deletedBefore)),
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

function differencesOfKind(
  { current, ...plan }: TenantPlan,
  kind: ListedKind,
  deletedBefore: ReadonlySet<string>,
): RecordDifference[] {
  const { list } = recordKinds[kind];
  const { created, updated, deleted }: Difference<object> = plan[list];
  const isGuarded = isGuardedDeletion(kind, deleted.length, current?.[list].length ?? 0);
  const difference = (
    record: object,
    change: RecordDifference['change'],
    keys: string[] = [],
  ): RecordDifference => {
    const name = recordName(kind, record);
    return {
      kind,
      name,
      change,
      keys,
      needsAllowDelete: change === 'deleted' && isGuarded,
      wasDeleted: kind === 'user' && change === 'created' && deletedBefore.has(name),
    };
  };
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
