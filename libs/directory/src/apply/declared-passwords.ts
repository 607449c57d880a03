import { createHash } from 'node:crypto';
import type { DeclaredTenant } from '../declared/schema.ts';
import type { Passwords } from '../ground/passwords.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import type { TenantPlan } from '../plans/plan.ts';
import type { AdminStore, StoredPassword } from '../store/store.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { withheldPassword } from '../users/withheld-password.ts';
import { administers } from './administration-guard.ts';

/** Passwords of a file that are hashed, or wait for it, at once: fewer than may wait, however many it declares. */
const mostAtOnce = 100;

/** The normalized user names of people with a declared password or hash. */
export function namesOfPasswords({ users }: Pick<DeclaredTenant, 'users'>): string[] {
  return users
    .filter(({ password, passwordHash }) => (password ?? passwordHash) !== undefined)
    .map(({ username }) => normalizeIdentifier(username));
}

/** PHC strings by normalized user name: declared ones, and those of declared passwords. */
export async function hashesOf(
  passwords: Pick<Passwords, 'hashUnlessKnown'>,
  { id, users }: Pick<DeclaredTenant, 'id' | 'users'>,
  stored: ReadonlyMap<string, StoredPassword>,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  const hash = async ({ username, password, passwordHash }: DeclaredTenant['users'][number]) => {
    const key = normalizeIdentifier(username);
    const kept = passwordHash === undefined ? undefined : presentHash(passwordHash, stored.get(key));
    if (kept !== undefined) hashes.set(key, kept);
    if (password === undefined) return;
    hashes.set(key, await passwords.hashUnlessKnown(password, stored.get(key)?.hash, id, signal));
  };
  for (let next = 0; next < users.length; next += mostAtOnce)
    await Promise.all(users.slice(next, next + mostAtOnce).map(hash));
  return hashes;
}

/**
 * In place of hashes, for plans that compare no passwords: who gets a first password, which is a way in. By normalized
 * user name.
 */
export function firstPasswords(
  declared: Pick<DeclaredTenant, 'users'>,
  current: TenantState | undefined,
): Map<string, string> {
  const present = new Map(current?.users.map((user) => [normalizeIdentifier(user.username), user]));
  const users = declared.users.filter(({ passwordHash }) => passwordHash !== withheldPassword);
  return new Map(
    namesOfPasswords({ users })
      .filter((key) => present.has(key) && present.get(key)?.passwordHash === undefined)
      .map((key) => [key, 'declared']),
  );
}

/**
 * As `hashesOf`, for the people who administer already; none if their hashes are being replaced, which the transaction
 * sees.
 */
export async function administratorHashes(
  { store, passwords }: { readonly store: Pick<AdminStore, 'passwordHashes'>; readonly passwords: Passwords },
  tenant: DeclaredTenant,
  { current }: Pick<TenantPlan, 'current'>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const names = new Set(
    current?.users.filter(administers).map(({ username }) => normalizeIdentifier(username)),
  );
  const users = tenant.users.filter(
    ({ username, password, passwordHash }) =>
      (password ?? passwordHash) !== undefined && names.has(normalizeIdentifier(username)),
  );
  if (users.length === 0) return new Map();
  const stored = await store.passwordHashes(tenant.id, namesOfPasswords({ users }));
  return isPreparedFor({ users }, stored, current)
    ? hashesOf(passwords, { id: tenant.id, users }, stored, signal)
    : new Map();
}

/** A plan that also says which passwords people get, by normalized user name. What it changes is not compared again. */
export function withPasswords(plan: TenantPlan, hashes: ReadonlyMap<string, string>): TenantPlan {
  if (hashes.size === 0) return plan;
  const users = plan.desired.users.map((user) => {
    const passwordHash = hashes.get(normalizeIdentifier(user.username));
    return passwordHash === undefined ? user : { ...user, passwordHash };
  });
  return { ...plan, desired: { ...plan.desired, users } };
}

/** The stored hash, or none, if that replaced the declared one: by other parameters, or because it was taken away. */
function presentHash(declared: string, stored: StoredPassword | undefined): string | undefined {
  if (stored?.imported === undefined) return declared;
  return stored.imported.equals(createHash('sha256').update(declared).digest()) ? stored.hash : declared;
}

/** Whether the stored hashes are still those that the declared passwords were compared with. */
export function isPreparedFor(
  declared: Pick<DeclaredTenant, 'users'>,
  stored: ReadonlyMap<string, StoredPassword>,
  current: TenantState | undefined,
): boolean {
  const users = new Map(current?.users.map((user) => [normalizeIdentifier(user.username), user]));
  return declared.users.every(({ username, password, passwordHash }) => {
    const key = normalizeIdentifier(username);
    const isUndeclared = password === undefined && passwordHash === undefined;
    return isUndeclared || users.get(key)?.passwordHash === stored.get(key)?.hash;
  });
}
