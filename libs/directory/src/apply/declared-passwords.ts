import { createHash } from 'node:crypto';
import type { DeclaredTenant } from '../declared/schema.ts';
import type { Passwords } from '../ground/passwords/passwords.ts';
import type { TenantState } from '../plans/tenant-state.ts';
import type { TenantPlan } from '../plans/plan.ts';
import type { AdminStore, StoredPassword } from '../store/store.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { matchedPeople } from '../users/matched-people.ts';
import { withheldPassword } from '../users/claims/withheld-password.ts';
import { administers } from './guards/administration-guard.ts';

/** Passwords of a file that are hashed, or wait for it, at once: fewer than may wait, however many it declares. */
const mostAtOnce = 100;

/** The normalized user names of people with a declared password or hash. */
export function namesOfPasswords({ users }: Pick<DeclaredTenant, 'users'>): string[] {
  return users
    .filter(({ password, passwordHash }) => (password ?? passwordHash) !== undefined)
    .map(({ username }) => normalizeIdentifier(username));
}

/** The stored passwords of the people with a declared one. */
export async function storedPasswords(
  store: Pick<AdminStore, 'passwordHashes'>,
  { id, users }: Pick<DeclaredTenant, 'id' | 'users'>,
): Promise<ReadonlyMap<string, StoredPassword>> {
  const userIds = users
    .filter(({ password, passwordHash }) => (password ?? passwordHash) !== undefined)
    .flatMap(({ userId }) => userId ?? []);
  return store.passwordHashes(id, namesOfPasswords({ users }), userIds);
}

/** Those of each declared person. */
function storedOf(
  users: DeclaredTenant['users'],
  stored: ReadonlyMap<string, StoredPassword>,
): ReadonlyMap<DeclaredTenant['users'][number], StoredPassword> {
  return matchedPeople(
    users,
    [...stored].map(([username, password]) => ({ username, ...password })),
  );
}

/** PHC strings by normalized user name: declared ones, and those of declared passwords. */
export async function hashesOf(
  passwords: Pick<Passwords, 'hashUnlessKnown'>,
  { id, users }: Pick<DeclaredTenant, 'id' | 'users'>,
  stored: ReadonlyMap<string, StoredPassword>,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const hashes = new Map<string, string>();
  const present = storedOf(users, stored);
  const hash = async (user: DeclaredTenant['users'][number]) => {
    const { username, password, passwordHash } = user;
    const key = normalizeIdentifier(username);
    const kept = passwordHash === undefined ? undefined : presentHash(passwordHash, present.get(user));
    if (kept !== undefined) hashes.set(key, kept);
    if (password === undefined) return;
    hashes.set(key, await passwords.hashUnlessKnown(password, present.get(user)?.hash, id, signal));
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
  const present = matchedPeople(declared.users, current?.users);
  const users = declared.users.filter((user) => {
    const found = present.get(user);
    return user.passwordHash !== withheldPassword && found !== undefined && found.passwordHash === undefined;
  });
  return new Map(namesOfPasswords({ users }).map((key) => [key, 'declared']));
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
  const matched = matchedPeople(tenant.users, current?.users);
  const users = tenant.users.filter((user) => {
    const present = matched.get(user);
    return (
      (user.password ?? user.passwordHash) !== undefined && present !== undefined && administers(present)
    );
  });
  if (users.length === 0) return new Map();
  const stored = await storedPasswords(store, { id: tenant.id, users });
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

/**
 * The stored hash, or none, if that replaced the declared one: by other parameters, or because it was taken away. What
 * people set in place of one that did not come stays, although it comes now.
 */
function presentHash(declared: string, stored: StoredPassword | undefined): string | undefined {
  if (stored?.imported === undefined) return declared;
  const isOf = (text: string) => stored.imported?.equals(createHash('sha256').update(text).digest()) === true;
  const isTheirs = stored.hash !== undefined && isOf(withheldPassword);
  return isTheirs || isOf(declared) ? stored.hash : declared;
}

/** Whether the stored hashes are still those that the declared passwords were compared with. */
export function isPreparedFor(
  declared: Pick<DeclaredTenant, 'users'>,
  stored: ReadonlyMap<string, StoredPassword>,
  current: TenantState | undefined,
): boolean {
  const users = matchedPeople(declared.users, current?.users);
  const before = storedOf(declared.users, stored);
  return declared.users.every((user) => {
    const isUndeclared = user.password === undefined && user.passwordHash === undefined;
    return isUndeclared || users.get(user)?.passwordHash === before.get(user)?.hash;
  });
}
