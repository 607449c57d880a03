import type { UserRecord } from './fields.ts';
import { identifiersOf, normalizeIdentifier } from './identifiers.ts';

/** What a person is called, and signs in with. */
export interface NamedPerson extends Pick<UserRecord, 'userId' | 'username' | 'email' | 'phoneNumber'> {
  readonly standardClaims: { readonly preferredUsername?: string | undefined };
}

/** The message for a `preferredUsername` with which another person signs in: programs know people by it. */
export const isSomebodyElse =
  'is the user name, e-mail address or phone number of another user of the tenant';

/** The message for an identifier that is such a name. */
export const isSomebodysName =
  'has an identifier that is the preferredUsername of another user of the tenant';

/** The name by which programs know a person, as identifiers are compared; empty without one. */
export function preferredNameOf({ standardClaims }: NamedPerson): string {
  return normalizeIdentifier(standardClaims.preferredUsername ?? '');
}

/**
 * Whether a person would be taken for another one by their name, or another one for them. Only what is new counts: records from before there
 * was this rule stay, and keep nothing else from being changed.
 * @param before the person as they were; undefined for a new one
 * @param all of the tenant, as far as they have one of these names
 */
export function sharedNames(
  before: NamedPerson | undefined,
  after: NamedPerson,
  all: Names,
): { readonly key: 'preferredUsername' | 'username'; readonly message: string }[] {
  const isOther = (userIds: ReadonlySet<string> | undefined): boolean =>
    [...(userIds ?? [])].some((userId) => userId !== after.userId);
  const preferred = preferredNameOf(after);
  const isNew = preferred !== '' && (before === undefined || preferredNameOf(before) !== preferred);
  const former = before === undefined ? [] : identifiersOf(before);
  const identifiers = identifiersOf(after).filter((identifier) => !former.includes(identifier));
  return [
    ...(isNew && isOther(all.identifiers.get(preferred))
      ? [{ key: 'preferredUsername', message: isSomebodyElse } as const]
      : []),
    ...(identifiers.some((identifier) => isOther(all.preferred.get(identifier)))
      ? [{ key: 'username', message: isSomebodysName } as const]
      : []),
  ];
}

/** Who has which name. */
export interface Names {
  readonly identifiers: ReadonlyMap<string, ReadonlySet<string>>;
  readonly preferred: ReadonlyMap<string, ReadonlySet<string>>;
}

export function namesOf(people: readonly NamedPerson[]): Names {
  const [identifiers, preferred] = [new Map<string, Set<string>>(), new Map<string, Set<string>>()];
  const add = (names: Map<string, Set<string>>, name: string, userId: string) => {
    const known = names.get(name);
    if (known === undefined) names.set(name, new Set([userId]));
    else known.add(userId);
  };
  for (const person of people) {
    for (const identifier of identifiersOf(person)) add(identifiers, identifier, person.userId);
    const name = preferredNameOf(person);
    if (name !== '') add(preferred, name, person.userId);
  }
  return { identifiers, preferred };
}
