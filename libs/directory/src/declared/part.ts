import { listedKinds, type ListedKind } from '../record-kinds.ts';
import { identifiersOf, normalizeIdentifier } from '../users/identifiers.ts';
import { kindsOf, type DeclaredTenant } from './schema.ts';

/** What of the records of its owner a document leaves as they are, because it is a part of what the owner declares. */
export interface Part {
  /** Of these kinds, records that the document leaves out stay. */
  readonly keptKinds: ReadonlySet<string>;
  /** User names, normalized, of people who do not stay nevertheless. */
  readonly deletedUsers: ReadonlySet<string>;
}

/** A document with everything that its owner declares. */
export const whole: Part = { keptKinds: new Set(), deletedUsers: new Set() };

/**
 * Whether a record of the owner stays that the document leaves out.
 * @param name of the record in the declared state; of a person normalized
 */
export function staysLeftOut({ keptKinds, deletedUsers }: Part, kind: ListedKind, name: string): boolean {
  return keptKinds.has(kind) && !(kind === 'user' && deletedUsers.has(name));
}

/** What tokens may get as their subject by a document: identifiers that people are given, and client IDs. */
export function subjectsIn(tenants: readonly DeclaredTenant[]): string[] {
  const subjects = tenants.flatMap(({ users, applications }) => [
    ...users.flatMap(({ userId }) => userId ?? []),
    ...applications.map(({ clientId }) => clientId),
  ]);
  return [...new Set(subjects)];
}

/** The kinds of records that a document is about, whatever the directory has. */
export function kindsIn(tenants: readonly DeclaredTenant[], { deletedUsers }: Part): Set<string> {
  return new Set([...kindsOf(tenants), ...(deletedUsers.size > 0 ? ['user'] : [])]);
}

/**
 * The normalized names of the people whom a part may change, and of whom these may have a name; undefined if it may
 * concern everybody: what else a tenant has gives something to people, or takes it, whom no document names.
 */
export function namesInPart(tenants: readonly DeclaredTenant[], part: Part): string[] | undefined {
  const isPart = listedKinds.every((kind) => part.keptKinds.has(kind));
  if (!isPart || kindsOf(tenants).some((kind) => kind !== 'user' && kind !== 'role')) return undefined;
  const users = tenants.flatMap((tenant) => tenant.users);
  const names = users.flatMap((user) => [
    ...identifiersOf(user),
    normalizeIdentifier(user.preferredUsername ?? ''),
  ]);
  return [...new Set([...names, ...part.deletedUsers])].filter((name) => name !== '');
}
