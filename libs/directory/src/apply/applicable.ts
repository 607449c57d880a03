import type { Database } from '@tessera/stores';
import {
  DeclaredStateError,
  refuseProblems,
  tellApart,
  type Problem,
  type ToldApart,
} from '../declared/declared-state-error.ts';
import { kindsIn, namesInPart, subjectsIn, whole, type Part } from '../declared/part.ts';
import { parseDeclaredState, type ReadState } from '../declared/read.ts';
import { declaredIn, othersIn } from '../declared/surroundings.ts';
import type { DeclaredTotps } from '../factors/declared-totps.ts';
import { fileOwner } from '../fields/owner.ts';
import type { Passwords } from '../ground/passwords.ts';
import { planTenant, type TenantPlan } from '../plans/plan.ts';
import type { PresentState } from '../plans/tenant-state.ts';
import type { ProviderSecrets } from '../providers/provider-secrets.ts';
import type { ClientSecrets } from '../secrets/client-secrets.ts';
import type { AdminStore, TakenValue } from '../store/store.ts';
import { firstPasswords } from './declared-passwords.ts';
import { desiredState, type DesiredOptions } from './desired-state.ts';
import { missingSecrets } from './missing-secrets.ts';
import { OtherKindsError } from './other-kinds-error.ts';
import { refuseConflicts } from './owner-conflicts.ts';
import { problemsOfPlans } from './taken-in-file.ts';
import { touchedBy, type DeclaredPlan } from './touched-records.ts';

export interface ApplyDeps {
  /** For the functions in the read files of the kinds. */
  readonly database: Database;
  readonly store: AdminStore;
  readonly secrets: ClientSecrets;
  readonly passwords: Passwords;
  readonly providerSecrets: ProviderSecrets;
  readonly declaredTotps: DeclaredTotps;
  /** Of declared passwords, in characters. */
  readonly passwordMinLength: number;
  /** No tenant may declare it as its own; undefined if it is taken from the host of each request. */
  readonly sharedIssuer: string | undefined;
  readonly newUserId: () => string;
  /** Called after each commit. */
  readonly onChange: () => void;
}

export interface DeclaredDocument {
  readonly text: string;
  readonly fileName: string;
  /** The one tenant that it declares; undefined: it may declare any, and any number. */
  readonly tenantId?: string | undefined;
  /** Who declares it; undefined: the file says it. */
  readonly owner: string | undefined;
  /** Whether it takes over records of other owners. */
  readonly takeOver: boolean;
  /** What it leaves out and stays; default: nothing of its owner. */
  readonly part?: Part;
  /** The kinds of records that it may declare and touch; undefined: all. */
  readonly kinds?: ReadonlySet<string>;
}

/** A document that may be applied, as far as its caller allows what it does. */
export interface Applicable {
  readonly read: ReadState;
  readonly by: Pick<DesiredOptions, 'owner' | 'takeOver' | 'part'>;
  /**
   * In the order of the file, from what its tenants were when it was checked, without passwords: comparing them takes
   * long.
   */
  readonly plans: readonly TenantPlan[];
}

/** Throws DeclaredStateError for a document that is not YAML, or declares another tenant than it may. */
function parsedFor(tenantId: string | undefined, text: string, fileName: string) {
  const parsed = parseDeclaredState(text, fileName);
  const others = tenantId === undefined ? [] : parsed.othersThan(tenantId);
  if (others.length > 0) throw new DeclaredStateError(others);
  return parsed;
}

/** @throws OtherKindsError */
function requireKinds(touched: Iterable<string>, { kinds }: Pick<DeclaredDocument, 'kinds'>): void {
  const others = kinds === undefined ? [] : [...new Set(touched)].filter((kind) => !kinds.has(kind));
  if (others.length > 0) throw new OtherKindsError(others);
}

/**
 * Throws DeclaredStateError with every error, including weak passwords, DeclaredConflictError for what only clashes
 * with records of other owners or tenants, OtherKindsError, and OwnerConflictError for records of other owners.
 */
export async function readApplicable(
  deps: ApplyDeps,
  { text, fileName, tenantId, owner: given, takeOver, part = whole, ...may }: DeclaredDocument,
): Promise<Applicable> {
  const parsed = parsedFor(tenantId, text, fileName);
  // Mistakes and conflicts name records: who may not see these must not learn of them.
  requireKinds(kindsIn(parsed.tenants, part), may);
  const owner = given ?? parsed.owner ?? fileOwner;
  const states = new Map<string, PresentState | undefined>();
  for (const id of parsed.tenantIds) {
    const entries = parsed.tenants.filter((tenant) => tenant.id === id);
    const names = namesInPart(entries, part);
    states.set(id, await deps.store.tenantState(id, names, subjectsIn(entries)));
  }
  const read = parsed.checked(
    (tenant) => othersIn(states.get(tenant.id), tenant, { owner, part }),
    deps.passwordMinLength,
  );
  if (tenantId !== undefined && read.state.tenants.length === 0)
    throw new DeclaredStateError([read.problem(['tenants'], 'must have the tenant of the request')]);
  const by = { owner, takeOver, part };
  const plans = read.state.tenants.map((tenant) => {
    const current = states.get(tenant.id);
    const passwordHashes = firstPasswords(tenant, current);
    const { declaredTotps: _, ...others } = deps;
    const withoutHashes = { ...others, ...by, passwordHashes, clientSecrets: new Map<string, string>() };
    return planTenant(current, desiredState(tenant, current, withoutHashes));
  });
  const ofTenants = await problemsOfTenants(deps, read, states);
  const ofRecords = await problemsOfRecords(deps, read, plans);
  refuseProblems({
    mistakes: [...ofTenants.mistakes, ...ofRecords.mistakes],
    conflicts: [...read.conflicts, ...ofTenants.conflicts, ...ofRecords.conflicts],
  });
  const planned = read.state.tenants.flatMap((declared, index): DeclaredPlan[] => {
    const plan = plans[index];
    return plan === undefined ? [] : [{ declared, plan, owner }];
  });
  requireKinds(
    planned.flatMap(touchedBy).map(({ kind }) => kind),
    may,
  );
  for (const plan of plans) refuseConflicts(plan, by);
  return { read, by, plans };
}

/** Tenants that do not exist, or have the shared issuer, and providers without a secret. */
async function problemsOfTenants(
  { store, sharedIssuer }: Pick<ApplyDeps, 'store' | 'sharedIssuer'>,
  read: ReadState,
  states: ReadonlyMap<string, PresentState | undefined>,
): Promise<ToldApart> {
  const mistakes: Problem[] = [];
  const missing: Problem[] = [];
  for (const [index, tenant] of read.state.tenants.entries()) {
    const state = states.get(tenant.id);
    if (tenant.issuer !== '' && tenant.issuer === sharedIssuer)
      mistakes.push(read.problem(['tenants', index, 'issuer'], 'is the shared issuer'));
    if (tenant.name === undefined && state === undefined) missing.push(unknownTenant(read, index));
    missing.push(...missingSecrets(read, index, state));
  }
  // Others may have deleted what is missing, unless there are no others.
  const isEmpty = missing.length > 0 && (await store.tenantIds()).length === 0;
  return isEmpty ? { mistakes: [...mistakes, ...missing], conflicts: [] } : { mistakes, conflicts: missing };
}

/** Values that other records have, and names and audiences that records of one file share. */
async function problemsOfRecords(
  { store }: Pick<ApplyDeps, 'store'>,
  read: ReadState,
  plans: readonly TenantPlan[],
): Promise<ToldApart> {
  const { tenants } = read.state;
  const ids = tenants.map(({ id }) => id);
  const taken: (readonly TakenValue[])[] = [];
  for (const plan of plans) taken.push(await store.takenValues(plan, ids));
  return tellApart(problemsOfPlans(read, plans, taken), () => {
    const alone = plans.map((plan, index) => {
      const tenant = tenants[index];
      return tenant === undefined ? plan : withoutOthers(plan, declaredIn(plan.desired, tenant));
    });
    return problemsOfPlans(read, alone);
  });
}

function withoutOthers({ current, ...plan }: TenantPlan, desired: TenantPlan['desired']): TenantPlan {
  const { subjects: _, ...known } = current ?? {};
  return { ...plan, desired, current: current && (known as typeof current) };
}

/** An entry without a name refers to a tenant that exists. */
export function unknownTenant(read: ReadState, index: number): Problem {
  return read.problem(['tenants', index, 'name'], 'is required, as there is no such tenant yet');
}
