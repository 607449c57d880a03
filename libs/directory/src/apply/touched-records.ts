import type { DeclaredTenant } from '../declared/schema.ts';
import {
  listedKinds,
  recordKinds,
  recordName,
  type Kind,
  type ListedKind,
  type RecordOf,
} from '../record-kinds.ts';
import type { Difference, TenantPlan } from '../plans/plan.ts';
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
  const people = new Set([...namesOfPasswords(declared), ...namesOfFactors(declared)]);
  const applications = new Set(
    declared.applications.filter(({ secrets }) => secrets.length > 0).map(({ clientId }) => clientId),
  );
  const providers = new Set(
    declared.providers.filter(({ clientSecret }) => clientSecret !== undefined).map(({ name }) => name),
  );
  const guessed: { readonly [K in ListedKind]?: readonly RecordOf[K][] } = {
    provider: desired.providers.filter(({ name }) => providers.has(name)),
    user: desired.users.filter(({ username }) => people.has(normalizeIdentifier(username))),
    application: desired.applications.filter(({ clientId }) => applications.has(clientId)),
  };
  return [
    ...(plan.tenant === 'unchanged' ? [] : [tenant]),
    ...listedKinds.flatMap((kind) => touched(kind, plan[recordKinds[kind].list], guessed[kind])),
  ];
}

/** @param guessed records that may change, besides those that do */
function touched(
  kind: Kind,
  { created, updated, deleted }: Difference<RecordOf[Kind]>,
  guessed: readonly RecordOf[Kind][] = [],
): TouchedRecord[] {
  const nameOf = (record: RecordOf[Kind]) => recordName(kind, record);
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
