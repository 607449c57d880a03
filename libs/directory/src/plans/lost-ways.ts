import { deletionEnds, endsBy } from '../endings/endings.ts';
import type { UserRecord } from '../users/fields.ts';
import type { ProviderRecord } from '../providers/fields.ts';
import type { KnownWay, PresentState } from './tenant-state.ts';

interface Updated<T> {
  readonly updated: readonly { readonly before: T; readonly after: T }[];
}

/** Of a plan, what takes ways in from people. */
interface Changes {
  readonly current: Pick<PresentState, 'known'> | undefined;
  readonly users: Updated<UserRecord>;
  readonly providers: Updated<ProviderRecord> & { readonly deleted: readonly ProviderRecord[] };
}

/** What a person is declared to sign in with, as their record remembers it. */
export interface DeclaredWays {
  readonly userId: string;
  readonly passkeys: readonly string[];
  readonly identities: readonly string[];
}

/** What people were declared to sign in with before a plan, and no longer are. */
export function withdrawnWays({ users }: Pick<Changes, 'users'>): DeclaredWays[] {
  return users.updated.flatMap(({ before, after }) => waysOnlyOf(before, after));
}

/** What people get by a plan to sign in with. */
export function givenWays({ users }: Pick<Changes, 'users'>): DeclaredWays[] {
  return users.updated.flatMap(({ before, after }) => waysOnlyOf(after, before));
}

/** The ways in that people have and a plan takes back. */
export function waysTakenBack(plan: Pick<Changes, 'current' | 'users'>): KnownWay[] {
  const withdrawn = new Map(
    withdrawnWays(plan).map(({ userId, passkeys, identities }) => [
      userId,
      new Set([...passkeys, ...identities]),
    ]),
  );
  return (plan.current?.known ?? []).filter(({ userId, way }) => withdrawn.get(userId)?.has(way));
}

/** The ways in that people have and lose by a plan: at providers that go, and what is taken back. */
export function lostWays(plan: Changes): KnownWay[] {
  const gone = lostProviders(plan);
  return [
    ...(plan.current?.known ?? []).filter(({ provider }) => gone.has(provider)),
    ...waysTakenBack(plan),
  ];
}

/** The names of providers with which nobody gets in any more who was known by them. */
function lostProviders({ providers }: Pick<Changes, 'providers'>): ReadonlySet<string> {
  const changed = providers.updated.filter(({ before, after }) => endsBy('all', 'provider', before, after));
  const deleted = deletionEnds('provider') ? providers.deleted : [];
  return new Set([...changed.map(({ before }) => before), ...deleted].map(({ name }) => name));
}

function waysOnlyOf(user: UserRecord, other: UserRecord): DeclaredWays[] {
  const only = (ways: readonly string[] = [], others: readonly string[] = []) =>
    ways.filter((way) => !others.includes(way));
  const passkeys = only(user.declaredPasskeys, other.declaredPasskeys);
  const identities = only(user.declaredIdentities, other.declaredIdentities);
  return passkeys.length + identities.length === 0 ? [] : [{ userId: user.userId, passkeys, identities }];
}
