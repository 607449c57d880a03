import type { Queryable } from '@tessera/stores';
import type { DeclaredTenant } from '../declared/schema.ts';
import type { DeclaredTotps, NewTotp } from '../factors/declared-totps.ts';
import { identityOf } from '../factors/declared-identity.ts';
import type { TenantPlan } from '../plans/plan.ts';
import { normalizeIdentifier } from '../users/identifiers.ts';
import { matchedPeople } from '../users/matched-people.ts';
import { readDeclaredTotps } from '../users/read.postgres.ts';

/** The authenticator apps that a document declares, encrypted for who is to have them. */
export interface PreparedTotps {
  /** By normalized user name: the identifiers of the people with an app, of new ones, too. */
  readonly userIds: ReadonlyMap<string, string>;
  /** By normalized user name, those that are not declared as before. */
  readonly apps: ReadonlyMap<string, NewTotp>;
}

/** The normalized user names of people with a declared app, passkey or identity. */
export function namesOfFactors({ users }: Pick<DeclaredTenant, 'users'>): string[] {
  return users
    .filter(({ totp, passkeys, identities }) => [totp, passkeys, identities].some((way) => way !== undefined))
    .map(({ username }) => normalizeIdentifier(username));
}

/** Encrypts the declared apps before the transaction, for the identifiers that people have, or get. */
export async function prepareTotps(
  {
    database,
    declaredTotps,
    newUserId,
  }: {
    readonly database: Queryable;
    readonly declaredTotps: DeclaredTotps;
    readonly newUserId: () => string;
  },
  { id: tenantId, users }: Pick<DeclaredTenant, 'id' | 'users'>,
): Promise<PreparedTotps> {
  const userIds = new Map<string, string>();
  const apps = new Map<string, NewTotp>();
  if (users.every(({ totp }) => totp === undefined)) return { userIds, apps };
  const present = matchedPeople(users, await readDeclaredTotps(database, tenantId, users));
  for (const user of users) {
    if (user.totp === undefined) continue;
    const found = present.get(user);
    const userId = found?.userId ?? user.userId ?? newUserId();
    const name = normalizeIdentifier(user.username);
    userIds.set(name, userId);
    const app = await declaredTotps.of({ tenantId, userId }, user.totp, found?.declaredTotp);
    if (app !== undefined) apps.set(name, app);
  }
  return { userIds, apps };
}

/** The plan with what people sign in with at providers by it. */
export function withIdentities(plan: TenantPlan): TenantPlan {
  const current = new Map(plan.current?.users.map((user) => [user.userId, user.declaredIdentities]));
  const bound = plan.desired.users.flatMap(({ userId, declaredIdentities = [] }) => {
    const before = current.get(userId) ?? [];
    return declaredIdentities
      .filter((text) => !before.includes(text))
      .map((text) => ({ ...identityOf(text), userId }));
  });
  return bound.length === 0 ? plan : { ...plan, bound };
}

/** The plan with the passkeys that people get by it. */
export function withPasskeys(plan: TenantPlan, { users }: Pick<DeclaredTenant, 'users'>): TenantPlan {
  const declared = users.filter(({ passkeys }) => passkeys !== undefined);
  if (declared.length === 0) return plan;
  const known = new Map(plan.desired.users.map((user) => [normalizeIdentifier(user.username), user]));
  const current = new Map(plan.current?.users.map((user) => [user.userId, user.declaredPasskeys]));
  const passkeys = declared.flatMap((user) => {
    const { userId = '' } = known.get(normalizeIdentifier(user.username)) ?? {};
    const before = current.get(userId) ?? [];
    const added = (user.passkeys ?? []).filter(({ credentialId }) => !before.includes(credentialId));
    return added.map((passkey) => ({ ...passkey, userId }));
  });
  return { ...plan, passkeys };
}

/** The plan with the apps that people get by it; undefined if somebody has another identifier by now. */
export function withTotps(plan: TenantPlan, { userIds, apps }: PreparedTotps): TenantPlan | undefined {
  if (userIds.size === 0) return plan;
  const known = new Map(plan.desired.users.map((user) => [normalizeIdentifier(user.username), user]));
  for (const [name, userId] of userIds) if (known.get(name)?.userId !== userId) return undefined;
  const current = new Map(plan.current?.users.map((user) => [user.userId, user.declaredTotp]));
  const totps = [...apps.values()].filter(({ userId, declared }) => current.get(userId) !== declared);
  return { ...plan, totps };
}
