import type { DeclaredUser, UserRecord } from './fields.ts';
import { normalizeIdentifier } from './identifiers.ts';

/** The present people whom declared ones are: by the identifier that they were given, and else by their user name. */
export function matchedPeople<
  D extends Pick<DeclaredUser, 'username' | 'userId'>,
  R extends Pick<UserRecord, 'userId' | 'username'>,
>(declared: readonly D[], present: readonly R[] = []): ReadonlyMap<D, R> {
  const byId = new Map(present.map((record) => [record.userId, record]));
  const byName = new Map(present.map((record) => [normalizeIdentifier(record.username), record]));
  const matched = new Map<D, R>();
  const taken = new Set<R>();
  const match = (user: D, record: R | undefined): void => {
    if (record === undefined || taken.has(record) || matched.has(user)) return;
    matched.set(user, record);
    taken.add(record);
  };
  for (const user of declared) if (user.userId !== undefined) match(user, byId.get(user.userId));
  for (const user of declared) match(user, byName.get(normalizeIdentifier(user.username)));
  return matched;
}
