import type { DeclaredTenant } from '../declared/schema.ts';
import { recordName, type Kind } from '../fields/record-kinds.ts';
import type { Difference, TenantPlan } from '../plans/plan.ts';
import type { RecordOf } from '../record-of.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { namesOfPasswords } from './declared-passwords.ts';
import { namesOfFactors } from './factors-of-people.ts';

/** A plan, with the entry of the document that it is for. */
export interface DeclaredPlan {
  readonly declared: DeclaredTenant;
  readonly plan: TenantPlan;
  /** Who declares it. */
  readonly owner: string;
}

/** A record as it is, unless it is created, and as it would be, unless it is deleted. */
export interface TouchedRecord<K extends Kind = Kind> {
  readonly kind: K;
  /** What the declared state knows it by. */
  readonly name: string;
  readonly before: RecordOf[K] | undefined;
  readonly after: RecordOf[K] | undefined;
}

/**
 * The records that a plan changes, and those with a declared password, app or secret, in whatever order: who must not
 * change such a record must not learn either whether it would stay as it is.
 */
export function touchedBy({ declared, plan }: DeclaredPlan): TouchedRecord[] {
  const { current, desired } = plan;
  const tenant: TouchedRecord<'tenant'> = {
    kind: 'tenant',
    name: desired.tenant.tenantId,
    before: current?.tenant,
    after: desired.tenant,
  };
  const guessed = {
    people: new Set([...namesOfPasswords(declared), ...namesOfFactors(declared)]),
    applications: new Set(
      declared.applications.filter(({ secrets }) => secrets.length > 0).map(({ clientId }) => clientId),
    ),
    providers: new Set(
      declared.providers.filter(({ clientSecret }) => clientSecret !== undefined).map(({ name }) => name),
    ),
  };
  return [
    ...(plan.tenant === 'unchanged' ? [] : [tenant]),
    ...touched('resource', plan.resources),
    ...touched('role', plan.roles),
    ...touched(
      'provider',
      plan.providers,
      desired.providers.filter(({ name }) => guessed.providers.has(name)),
    ),
    ...touched(
      'user',
      plan.users,
      desired.users.filter(({ username }) => guessed.people.has(normalizeIdentifier(username))),
    ),
    ...touched(
      'application',
      plan.applications,
      desired.applications.filter(({ clientId }) => guessed.applications.has(clientId)),
    ),
  ];
}

/** @param guessed records that may change, besides those that do */
function touched<K extends Kind>(
  kind: K,
  { created, updated, deleted }: Difference<RecordOf[K]>,
  guessed: readonly RecordOf[K][] = [],
): TouchedRecord<K>[] {
  const nameOf = (record: RecordOf[K]) => recordName(kind, record);
  const changed = new Set([...created, ...updated.map(({ after }) => after)]);
  return [
    ...created.map((after) => ({ kind, name: nameOf(after), before: undefined, after })),
    ...updated.map(({ before, after }) => ({ kind, name: nameOf(after), before, after })),
    ...deleted.map((before) => ({ kind, name: nameOf(before), before, after: undefined })),
    ...guessed
      .filter((record) => !changed.has(record))
      .map((record) => ({ kind, name: nameOf(record), before: record, after: record })),
  ];
}
