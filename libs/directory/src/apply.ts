import type { CallContext } from '@tessera/kit';
import type { ClientSecrets } from './client-secrets.ts';
import { DeclaredStateError, type Problem } from './declared/positions.ts';
import { readDeclaredState, type ReadState } from './declared/read.ts';
import type { DeclaredTenant } from './declared/schema.ts';
import { desiredState } from './desired.ts';
import type { Passwords } from './passwords.ts';
import { changesOf, countPlan, planTenant, type PlanCounts } from './plan.ts';
import { eventsOf, type EventBase } from './plan-events.ts';
import { normalizeIdentifier } from './records.ts';
import type { AdminStore } from './store.ts';

export interface ApplyParts {
  readonly store: AdminStore;
  readonly secrets: ClientSecrets;
  readonly passwords: Passwords;
  readonly newUserId: () => string;
  /** Called after each commit. */
  readonly onChange: () => void;
}

export interface AppliedTenant extends PlanCounts {
  readonly tenantId: string;
}

/**
 * Makes the declared tenants so, one transaction each, in the order of the file. The whole file is checked before the
 * first one is written. Throws DeclaredStateError.
 */
export async function applyDeclaredState(
  parts: ApplyParts,
  document: { readonly text: string; readonly fileName: string },
  context: { readonly base: EventBase; readonly signal: CallContext['signal'] },
): Promise<AppliedTenant[]> {
  const read = readDeclaredState(document.text, document.fileName);
  const { tenants } = read.state;
  const problems: Problem[] = [];
  for (const tenant of tenants) {
    const taken = await parts.store.takenClientIds(tenant.id, clientIdsOf(tenant));
    problems.push(...takenProblems(read, tenant, taken));
  }
  if (problems.length > 0) throw new DeclaredStateError(problems);
  const applied: AppliedTenant[] = [];
  for (const tenant of tenants) applied.push(await applyTenant(parts, read, tenant, context));
  return applied;
}

async function applyTenant(
  parts: ApplyParts,
  read: ReadState,
  tenant: DeclaredTenant,
  { base, signal }: { readonly base: EventBase; readonly signal: AbortSignal },
): Promise<AppliedTenant> {
  const passwordHashes = await hashesOf(parts, tenant, signal);
  const { secrets, newUserId } = parts;
  const result = await parts.store.changeTenant(tenant.id, clientIdsOf(tenant), (current) => {
    const desired = desiredState(tenant, current, { secrets, passwordHashes, newUserId });
    const plan = planTenant(current, desired);
    return { plan, changes: changesOf(plan), events: eventsOf(plan, base) };
  });
  if (result.kind === 'taken') throw new DeclaredStateError(takenProblems(read, tenant, result.clientIds));
  parts.onChange();
  return { tenantId: tenant.id, ...countPlan(result.plan) };
}

/**
 * Hashes are made before the transaction, which must be short. Whatever is stored by the time it runs, each result is a
 * hash of the declared password.
 */
async function hashesOf(
  { store, passwords }: ApplyParts,
  tenant: DeclaredTenant,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const stored = await store.passwordHashes(tenant.id);
  const hashes = new Map<string, string>();
  await Promise.all(
    tenant.users.map(async ({ username, password, passwordHash }) => {
      const key = normalizeIdentifier(username);
      if (passwordHash !== undefined) hashes.set(key, passwordHash);
      if (password === undefined) return;
      hashes.set(key, await passwords.hashUnlessKnown(password, stored.get(key), signal));
    }),
  );
  return hashes;
}

/** A client id finds its tenant, so it can belong to one only. */
function takenProblems(read: ReadState, tenant: DeclaredTenant, taken: readonly string[]): Problem[] {
  const tenantIndex = read.state.tenants.indexOf(tenant);
  return tenant.applications.flatMap(({ clientId }, index) => {
    const path = ['tenants', tenantIndex, 'applications', index, 'clientId'];
    const message = 'belongs to another tenant; remove it there first';
    return taken.includes(clientId) ? [read.problem(path, message)] : [];
  });
}

function clientIdsOf(tenant: DeclaredTenant): string[] {
  return tenant.applications.map(({ clientId }) => clientId);
}
