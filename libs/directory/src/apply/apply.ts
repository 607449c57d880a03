import type { EventBase } from '@tessera/audit';
import type { CallContext } from '@tessera/rpc';
import { OAuthError, outcomeUnknown, temporarilyUnavailable } from '@tessera/oauth';
import { DeclaredConflictError } from '../declared/declared-state-error.ts';
import { readProviders } from '../providers/read.postgres.ts';
import { namesInPart, subjectsIn } from '../declared/part.ts';
import type { DeclaredTenant } from '../declared/schema.ts';
import { refuseAdministration } from './administration-guard.ts';
import {
  readApplicable,
  unknownTenant,
  type Applicable,
  type ApplyDeps,
  type DeclaredDocument,
} from './applicable.ts';
import { refusalOf, refuseDeletions } from './deletion-guard.ts';
import { desiredState } from './desired-state.ts';
import { namesakesOf } from './namesakes.ts';
import {
  administratorHashes,
  hashesOf,
  isPreparedFor,
  storedPasswords,
  withPasswords,
} from './declared-passwords.ts';
import { refuseConflicts } from './owner-conflicts.ts';
import { newProblems, takenProblems } from './taken-in-file.ts';
import { prepareTotps, withIdentities, withPasskeys, withTotps } from './factors-of-people.ts';
import type { DeclaredPlan } from './touched-records.ts';
import { changesOf, countPlan, planTenant, type PlanCounts, type TenantPlan } from '../plans/plan.ts';
import { eventsOf } from '../plans/plan-events.ts';
import type { PresentState } from '../plans/tenant-state.ts';
import type { Decide, TakenValue } from '../store/store.ts';

/** How often a tenant is tried if others change its passwords meanwhile. */
const attempts = 10;

export interface AppliedTenant extends PlanCounts {
  readonly tenantId: string;
  /** User names of created people whose namesakes were deleted and can be restored. */
  readonly newPeople: readonly string[];
}

/** What a plan may do only if its caller says so. */
interface Allowed {
  /** Whether people, applications and more than a tenth of another kind may be deleted. */
  readonly allowDelete: boolean;
  /** Whether somebody may get powers over the administration. */
  readonly allowAdministration: boolean;
}

interface ApplyContext extends Allowed {
  readonly base: EventBase;
  readonly signal: CallContext['signal'];
  /** Called in the transaction, with what it would carry out. Throws for what it must not. */
  readonly judge?: (planned: DeclaredPlan) => void;
}

/**
 * Applies the declared tenants, one transaction each, and returns them in the order of the file. The whole file is
 * checked before the first one is written. Throws DeclaredStateError, DeclaredConflictError and OwnerConflictError for
 * records of others, DeletionsNotAllowedError for deletions that need `allowDelete`, and AdministrationNotAllowedError
 * for powers that need `allowAdministration`.
 */
export async function applyDeclaredState(
  deps: ApplyDeps,
  document: DeclaredDocument,
  context: ApplyContext,
): Promise<AppliedTenant[]> {
  const applicable = await readApplicable(deps, document);
  refuseUnlessAllowed(await plansToAllow(deps, applicable, context), context);
  return applyTenants(deps, applicable, context);
}

/** Enough for what must be allowed: of passwords, those of administrators decide it. */
async function plansToAllow(
  deps: ApplyDeps,
  { read, plans }: Applicable,
  { allowAdministration, signal }: ApplyContext,
): Promise<readonly TenantPlan[]> {
  if (allowAdministration) return plans;
  const completed: TenantPlan[] = [];
  for (const [index, plan] of plans.entries()) {
    const tenant = read.state.tenants[index];
    if (tenant === undefined) continue;
    completed.push(withPasswords(plan, await administratorHashes(deps, tenant, plan, signal)));
  }
  return completed;
}

/** A tenant that claims what a later one gives up waits for it. */
async function applyTenants(
  deps: ApplyDeps,
  applicable: Applicable,
  context: ApplyContext,
): Promise<AppliedTenant[]> {
  const { read } = applicable;
  const applied = new Map<string, AppliedTenant>();
  for (let waiting: readonly DeclaredTenant[] = read.state.tenants; waiting.length > 0;) {
    const refused: { readonly tenant: DeclaredTenant; readonly taken: readonly TakenValue[] }[] = [];
    for (const tenant of waiting) {
      const earlier = [...applied.keys()];
      const result = await applyTenant(deps, applicable, tenant, { ...context, earlier }).catch(
        (error: unknown) => {
          throw afterApplying(earlier, error);
        },
      );
      if (result.kind === 'taken') refused.push({ tenant, taken: result.values });
      else applied.set(tenant.id, result.applied);
    }
    if (refused.length === waiting.length) {
      const conflicts = refused.flatMap(({ tenant, taken }) => takenProblems(read, tenant, taken));
      throw afterApplying([...applied.keys()], new DeclaredConflictError(conflicts));
    }
    waiting = refused.map(({ tenant }) => tenant);
  }
  return read.state.tenants.flatMap(({ id }) => applied.get(id) ?? []);
}

/**
 * The changes that applying the document would make, by tenant in the order of the file; `withoutPasswords` these are
 * not compared, so that changes of people are incomplete. Throws DeclaredStateError, DeclaredConflictError and
 * OwnerConflictError.
 */
export async function planDeclaredState(
  deps: ApplyDeps,
  document: DeclaredDocument,
  { signal, withoutPasswords }: { readonly signal: AbortSignal; readonly withoutPasswords: boolean },
): Promise<DeclaredPlan[]> {
  const applicable = await readApplicable(deps, document);
  const { tenants } = applicable.read.state;
  const asDeclared = (plans: readonly TenantPlan[]) =>
    tenants.flatMap((declared, index): DeclaredPlan[] => {
      const plan = plans[index];
      return plan === undefined ? [] : [{ declared, plan, owner: applicable.by.owner }];
    });
  if (withoutPasswords) return asDeclared(applicable.plans);
  const plans: TenantPlan[] = [];
  for (const tenant of tenants) {
    const plan = await untilCurrent(async () => {
      const planned = await prepare(deps, applicable, tenant, signal);
      const names = namesInPart([tenant], applicable.by.part);
      return planned(await deps.store.tenantState(tenant.id, names, subjectsIn([tenant])));
    });
    plans.push(plan);
  }
  return asDeclared(plans);
}

function refuseUnlessAllowed(
  plans: readonly TenantPlan[],
  { allowDelete, allowAdministration }: Allowed,
  earlier?: readonly string[],
): void {
  if (!allowDelete) refuseDeletions(plans, earlier);
  if (!allowAdministration) refuseAdministration(plans, earlier);
}

async function applyTenant(
  deps: ApplyDeps,
  applicable: Applicable,
  tenant: DeclaredTenant,
  { base, signal, earlier, judge, ...allowed }: ApplyContext & { readonly earlier: readonly string[] },
): Promise<
  | { readonly kind: 'applied'; readonly applied: AppliedTenant }
  | { readonly kind: 'taken'; readonly values: readonly TakenValue[] }
> {
  return untilCurrent(async () => {
    const planned = await prepare(deps, applicable, tenant, signal);
    const decide: Decide = (current) => {
      const plan = planned(current);
      // Again: others may have changed the tenant since the whole file was looked at.
      if (plan !== undefined) {
        refuseUnlessAllowed([plan], allowed, earlier);
        judge?.({ declared: tenant, plan, owner: applicable.by.owner });
      }
      return plan && { plan, changes: changesOf(plan), events: eventsOf(plan, base) };
    };
    const names = namesInPart([tenant], applicable.by.part);
    const result = await deps.store.changeTenant(tenant.id, decide, names, subjectsIn([tenant]));
    if (result.kind === 'taken') return result;
    if (result.kind === 'stale') return undefined;
    deps.onChange();
    const newPeople = await namesakesOf(deps.database, result.plan);
    return { kind: 'applied', applied: { tenantId: tenant.id, newPeople, ...countPlan(result.plan) } };
  });
}

/** The error with what of the file was applied before it, where it would say that nothing was changed. */
function afterApplying(earlier: readonly string[], error: unknown): unknown {
  if (earlier.length === 0) return error;
  if (error instanceof DeclaredConflictError)
    return new DeclaredConflictError(error.conflicts, `${refusalOf(earlier)}:`);
  return isUnavailable(error) ? outcomeUnknown(error) : error;
}

/** Whether an error says that nothing was changed. */
function isUnavailable(error: unknown): boolean {
  return error instanceof OAuthError && error.code === 'temporarily_unavailable';
}

/** Retries an attempt that returns undefined because others replaced the hashes that it was prepared for. */
async function untilCurrent<T>(attempt: () => Promise<T | undefined>): Promise<T> {
  for (let count = 0; count < attempts; count += 1) {
    const done = await attempt();
    if (done !== undefined) return done;
  }
  throw temporarilyUnavailable(new Error('Others kept changing the passwords of the tenant.'));
}

/**
 * Hashes the passwords of a tenant, and encrypts its apps, before the transaction, which must be short. The returned
 * function plans inside the transaction; it returns undefined if the hashes, or who is who, changed meanwhile. The
 * whole file has been checked, so what is wrong then others have done since: it throws DeclaredConflictError and
 * OwnerConflictError.
 */
async function prepare(
  deps: ApplyDeps,
  { read, by }: Applicable,
  tenant: DeclaredTenant,
  signal: AbortSignal,
): Promise<(current: PresentState | undefined) => TenantPlan | undefined> {
  const stored = await storedPasswords(deps.store, tenant);
  const passwordHashes = await hashesOf(deps.passwords, tenant, stored, signal);
  const totps = await prepareTotps(deps, tenant);
  const declaredTotps = new Map([...totps.apps].map(([name, { declared }]) => [name, declared]));
  const newUserId = (name: string) => totps.userIds.get(name) ?? deps.newUserId();
  const present = await readProviders(deps.database, tenant.id);
  const clientSecrets = await deps.providerSecrets.sealed(tenant.id, tenant.providers, present);
  return (current) => {
    if (!isPreparedFor(tenant, stored, current)) return undefined;
    if (tenant.name === undefined && current === undefined)
      throw new DeclaredConflictError([unknownTenant(read, read.state.tenants.indexOf(tenant))]);
    const hashed = { passwordHashes, declaredTotps, clientSecrets, newUserId };
    const desired = desiredState(tenant, current, { ...deps, ...by, ...hashed });
    const plan = withTotps(withPasskeys(withIdentities(planTenant(current, desired)), tenant), totps);
    if (plan === undefined) return undefined;
    refuseConflicts(plan, by);
    const problems = newProblems(read, tenant, plan);
    if (problems.length > 0) throw new DeclaredConflictError(problems);
    return plan;
  };
}
