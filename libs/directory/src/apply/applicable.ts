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
import type { DeclaredTenant } from '../declared/schema.ts';
import type { DeclaredTotps } from '../factors/declared-totps.ts';
import { fileOwner } from '../fields/owner.ts';
import type { Passwords } from '../ground/passwords/passwords.ts';
import { planTenant, type TenantPlan } from '../plans/plan.ts';
import type { PresentState } from '../plans/tenant-state.ts';
import type { ProviderSecrets } from '../providers/provider-secrets.ts';
import type { ClientSecrets } from '../secrets/client-secrets.ts';
import type { AdminStore } from '../store/store.ts';
import { firstPasswords } from './declared-passwords.ts';
import { desiredState, type DesiredOptions } from './desired-state.ts';
import { missingSecrets } from './guards/missing-secrets.ts';
import { OtherKindsError } from './guards/other-kinds-error.ts';
import { refuseConflicts } from './guards/owner-conflicts.ts';
import { problemsOfPlans } from './guards/taken-in-file.ts';
import { touchedBy } from './touched-records.ts';

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
  /** The one tenant that it declares. */
  readonly tenantId: string;
  /** Other tenants of the same file, of which nothing counts as taken. */
  readonly otherTenants?: readonly string[] | undefined;
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
  readonly tenant: DeclaredTenant;
  readonly by: Pick<DesiredOptions, 'owner' | 'takeOver' | 'part'>;
  /** From what the tenant was when it was checked, without passwords: comparing them takes long. */
  readonly plan: TenantPlan;
}

/** Throws DeclaredStateError for a document that is not YAML, or declares another tenant than it may. */
function parsedFor(tenantId: string, text: string, fileName: string) {
  const parsed = parseDeclaredState(text, fileName);
  const others = parsed.othersThan(tenantId);
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
  {
    text,
    fileName,
    tenantId,
    otherTenants = [],
    owner: given,
    takeOver,
    part = whole,
    ...may
  }: DeclaredDocument,
): Promise<Applicable> {
  const parsed = parsedFor(tenantId, text, fileName);
  // Mistakes and conflicts name records: who may not see these must not learn of them.
  requireKinds(kindsIn(parsed.tenants, part), may);
  const owner = given ?? parsed.owner ?? fileOwner;
  const current = await deps.store.tenantState(
    tenantId,
    namesInPart(parsed.tenants, part),
    subjectsIn(parsed.tenants),
  );
  const read = parsed.checked((one) => othersIn(current, one, { owner, part }), deps.passwordMinLength);
  const [tenant] = read.state.tenants;
  if (tenant === undefined)
    throw new DeclaredStateError([read.problem(['tenants'], 'must have the tenant of the request')]);
  const by = { owner, takeOver, part };
  const passwordHashes = firstPasswords(tenant, current);
  const { declaredTotps: _, ...others } = deps;
  const withoutHashes = { ...others, ...by, passwordHashes, clientSecrets: new Map<string, string>() };
  const plan = planTenant(current, desiredState(tenant, current, withoutHashes));
  const ofTenant = await problemsOfTenant(deps, read, tenant, current);
  const taken = await deps.store.takenValues(plan, otherTenants);
  const ofRecords = tellApart(problemsOfPlans(read, [plan], [taken]), () =>
    problemsOfPlans(read, [withoutOthers(plan, declaredIn(plan.desired, tenant))]),
  );
  refuseProblems({
    mistakes: [...ofTenant.mistakes, ...ofRecords.mistakes],
    conflicts: [...read.conflicts, ...ofTenant.conflicts, ...ofRecords.conflicts],
  });
  requireKinds(
    touchedBy({ declared: tenant, plan, owner }).map(({ kind }) => kind),
    may,
  );
  refuseConflicts(plan, by);
  return { read, tenant, by, plan };
}

/** A tenant that does not exist, or has the shared issuer, and providers without a secret. */
async function problemsOfTenant(
  { store, sharedIssuer }: Pick<ApplyDeps, 'store' | 'sharedIssuer'>,
  read: ReadState,
  tenant: DeclaredTenant,
  state: PresentState | undefined,
): Promise<ToldApart> {
  const mistakes =
    tenant.issuer !== '' && tenant.issuer === sharedIssuer
      ? [read.problem(['tenants', 0, 'issuer'], 'is the shared issuer')]
      : [];
  const missing = [
    ...(tenant.name === undefined && state === undefined ? [unknownTenant(read)] : []),
    ...missingSecrets(read, tenant, state),
  ];
  // Others may have deleted what is missing, unless there are no others.
  const isEmpty = missing.length > 0 && (await store.tenantIds()).length === 0;
  return isEmpty ? { mistakes: [...mistakes, ...missing], conflicts: [] } : { mistakes, conflicts: missing };
}

function withoutOthers({ current, ...plan }: TenantPlan, desired: TenantPlan['desired']): TenantPlan {
  const { subjects: _, ...known } = current ?? {};
  return { ...plan, desired, current: current && (known as typeof current) };
}

/** An entry without a name refers to a tenant that exists. */
export function unknownTenant(read: ReadState): Problem {
  return read.problem(['tenants', 0, 'name'], 'is required, as there is no such tenant yet');
}
