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
export const isSomebodysName = 'is the preferredUsername of another user of the tenant';

/** The name by which programs know a person, as identifiers are compared; empty without one. */
export function preferredNameOf({ standardClaims }: NamedPerson): string {
  return normalizeIdentifier(standardClaims.preferredUsername ?? '');
}

/**
 * Whether a person would be taken for another one by their name, or another one for them. Only what is new counts:
 * records from before there was this rule stay, and keep nothing else from being changed.
 * @param before the person as they were; undefined for a new one
 * @param all of the tenant, as far as they have one of these names
 */
export function sharedNames(before: NamedPerson | undefined, after: NamedPerson, all: Names): SharedName[] {
  const isOther = (userIds: ReadonlySet<string> | undefined): boolean =>
    [...(userIds ?? [])].some((userId) => userId !== after.userId);
  return newNames(before, after).flatMap(({ key, name }) => {
    const others = key === 'preferredUsername' ? all.identifiers : all.preferred;
    if (!isOther(others.get(name))) return [];
    return [{ key, message: key === 'preferredUsername' ? isSomebodyElse : isSomebodysName }];
  });
}

interface SharedName {
  readonly key: NameKey;
  readonly message: string;
}

const identifierKeys = ['username', 'email', 'phoneNumber'] as const;
type NameKey = (typeof identifierKeys)[number] | 'preferredUsername';

/**
 * The names, as identifiers are compared, that a person did not have before in that sense: to sign in with, or to be
 * known by.
 */
export function newNames(
  before: NamedPerson | undefined,
  after: NamedPerson,
): { readonly key: NameKey; readonly name: string }[] {
  const former = before === undefined ? [] : identifiersOf(before);
  const preferred = preferredNameOf(after);
  const isKept = before !== undefined && preferredNameOf(before) === preferred;
  return [
    ...(isKept ? [] : [{ key: 'preferredUsername', name: preferred } as const]),
    ...identifierKeys
      .map((key) => ({ key, name: normalizeIdentifier(after[key]) }))
      .filter(({ name }) => !former.includes(name)),
  ].filter(({ name }) => name !== '');
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
