import type { EventBase } from '@tessera/audit';
import type { CallContext } from '@tessera/rpc';
import { temporarilyUnavailable } from '@tessera/oauth';
import { DeclaredConflictError } from '../declared/declared-state-error.ts';
import { readProviders } from '../providers/read.postgres.ts';
import { namesInPart, subjectsIn } from '../declared/part.ts';
import { refuseAdministration } from './guards/administration-guard.ts';
import {
  readApplicable,
  unknownTenant,
  type Applicable,
  type ApplyDeps,
  type DeclaredDocument,
} from './applicable.ts';
import { refuseDeletions } from './guards/deletion-guard.ts';
import { desiredState } from './desired-state.ts';
import { namesakesOf } from './guards/namesakes.ts';
import {
  administratorHashes,
  hashesOf,
  isPreparedFor,
  storedPasswords,
  withPasswords,
} from './declared-passwords.ts';
import { refuseConflicts } from './guards/owner-conflicts.ts';
import { newProblems, takenProblems } from './guards/taken-in-file.ts';
import { prepareTotps, withIdentities, withPasskeys, withTotps } from './factors-of-people.ts';
import type { DeclaredPlan } from './touched-records.ts';
import { changesOf, countPlan, planTenant, type PlanCounts, type TenantPlan } from '../plans/plan.ts';
import { eventsOf } from '../plans/plan-events.ts';
import type { PresentState } from '../plans/tenant-state.ts';
import type { Decide } from '../store/store.ts';

/** How often a tenant is tried if others change its passwords meanwhile. */
const attempts = 10;

interface AppliedTenant extends PlanCounts {
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
 * Applies the declared tenant in one transaction. Throws DeclaredStateError, DeclaredConflictError and
 * OwnerConflictError for records of others, DeletionsNotAllowedError for deletions that need `allowDelete`, and
 * AdministrationNotAllowedError for powers that need `allowAdministration`.
 */
export async function applyDeclaredState(
  deps: ApplyDeps,
  document: DeclaredDocument,
  { base, signal, judge, ...allowed }: ApplyContext,
): Promise<AppliedTenant> {
  const applicable = await readApplicable(deps, document);
  // Before passwords are hashed, which takes long.
  refuseUnlessAllowed(await planToAllow(deps, applicable, { ...allowed, signal }), allowed);
  const { read, tenant, by } = applicable;
  return untilCurrent(async () => {
    const planned = await prepare(deps, applicable, signal);
    const decide: Decide = (current) => {
      const plan = planned(current);
      // Again: others may have changed the tenant since it was looked at.
      if (plan !== undefined) {
        refuseUnlessAllowed(plan, allowed);
        judge?.({ declared: tenant, plan, owner: by.owner });
      }
      return plan && { plan, changes: changesOf(plan), events: eventsOf(plan, base) };
    };
    const names = namesInPart([tenant], by.part);
    const result = await deps.store.changeTenant(tenant.id, decide, names, subjectsIn([tenant]));
    if (result.kind === 'taken') throw new DeclaredConflictError(takenProblems(read, tenant, result.values));
    if (result.kind === 'stale') return undefined;
    deps.onChange();
    return { newPeople: await namesakesOf(deps.database, result.plan), ...countPlan(result.plan) };
  });
}

/** Enough for what must be allowed: of passwords, those of administrators decide it. */
async function planToAllow(
  deps: ApplyDeps,
  { tenant, plan }: Applicable,
  { allowAdministration, signal }: Pick<ApplyContext, 'allowAdministration' | 'signal'>,
): Promise<TenantPlan> {
  return allowAdministration
    ? plan
    : withPasswords(plan, await administratorHashes(deps, tenant, plan, signal));
}

/**
 * The changes that applying the document would make; `withoutPasswords` these are not compared, so that changes of
 * people are incomplete. Throws DeclaredStateError, DeclaredConflictError and OwnerConflictError.
 */
export async function planDeclaredState(
  deps: ApplyDeps,
  document: DeclaredDocument,
  { signal, withoutPasswords }: { readonly signal: AbortSignal; readonly withoutPasswords: boolean },
): Promise<DeclaredPlan> {
  const applicable = await readApplicable(deps, document);
  const { tenant: declared, by } = applicable;
  const { owner } = by;
  if (withoutPasswords) return { declared, plan: applicable.plan, owner };
  const plan = await untilCurrent(async () => {
    const planned = await prepare(deps, applicable, signal);
    const names = namesInPart([declared], by.part);
    return planned(await deps.store.tenantState(declared.id, names, subjectsIn([declared])));
  });
  return { declared, plan, owner };
}

function refuseUnlessAllowed(plan: TenantPlan, { allowDelete, allowAdministration }: Allowed): void {
  if (!allowDelete) refuseDeletions(plan);
  if (!allowAdministration) refuseAdministration(plan);
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
 * document has been checked, so what is wrong then others have done since: it throws DeclaredConflictError and
 * OwnerConflictError.
 */
async function prepare(
  deps: ApplyDeps,
  { read, tenant, by }: Applicable,
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
      throw new DeclaredConflictError([unknownTenant(read)]);
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
