import { listedKinds } from '@tessera/directory';
import type { Allowed } from '../operate/records/show-comparison.ts';
import { CommandError } from '../terminal.ts';
import type { Entry, Imported, ImportedRecords } from './files/imported.ts';
import { leaveOut, leaveOutShared, type Mistake } from './leave-out.ts';
import {
  leavingOutBuiltIn,
  leavingOutPasskeys,
  leavingOutUnknownRoles,
  leavingOutUserIds,
} from './leave-out-names.ts';
import type { Answer, PartCalls } from './part-calls.ts';
import { append } from './parts.ts';
import type { PresentTenant } from './present-tenant.ts';
import type { Progress } from './progress.ts';
import type { ReachedDirectory } from './reached-directory.ts';

/** An import whose tenant is known. */
export interface Importing {
  readonly imported: Imported;
  readonly tenantId: string;
  readonly present: PresentTenant;
  readonly allowed: Allowed;
  readonly dryRun: boolean;
  readonly directory: ReachedDirectory;
  readonly calls: PartCalls;
  readonly progress: Progress;
}

/** Everything of an import but its people, without what is left out. */
export type BaseRecords = Omit<ImportedRecords, 'users'>;

/** What a part never deletes. */
export const everyKind: readonly string[] = listedKinds;
/** What an import deletes one by one. */
export const keptAtTheEnd = ['user'];
/** User names in one call. */
export const mostGone = 1000;
/** Each leaves something out, which may be what another refers to. */
export const mostRounds = 12;

/** Whether an import declares other records than people: then it has all of its owner. */
export function hasBase({ imported }: Pick<Importing, 'imported'>): boolean {
  return imported.tenantName !== undefined;
}

/** The entry of the document that declares everything but people. */
export function baseEntry(importing: Importing, base: BaseRecords): Entry {
  return { ...headOf(importing), ...base };
}

/** The entry of the document that declares some people, with the roles that they may have. */
export function peopleEntry(head: Entry, { roles }: BaseRecords, users: readonly Entry[]): Entry {
  return { ...head, ...(roles.length > 0 && { roles }), users };
}

/** The entry without any list: it declares the tenant if that is the import's. */
export function headOf({ imported, tenantId: id, present }: Importing): Entry {
  return present.isOurs ? { id, name: imported.tenantName, ...imported.tenantKeys, ...present.own } : { id };
}

/** The entry before anything is applied: it refers to a tenant that is there and stays as it is. */
export function presentHead(importing: Importing): Entry {
  const { exists, isMoved } = importing.present;
  return exists && !isMoved ? { id: importing.tenantId } : headOf(importing);
}

/**
 * The entry with which people are checked before anything is applied. Their links to providers that the import brings
 * are the last ones, and are checked when these are there.
 */
export function checkedPeople(importing: Importing, base: BaseRecords, users: readonly Entry[]): Entry {
  const brought = new Set(base.providers?.map(({ name }) => name));
  const shown = users.map((user) => {
    const { identities, ...others } = user;
    if (brought.size === 0 || !Array.isArray(identities)) return user;
    const checked = (identities as Entry[]).filter(({ provider }) => !brought.has(provider));
    return checked.length > 0 ? { ...others, identities: checked } : others;
  });
  return peopleEntry(presentHead(importing), base, shown);
}

/** The records of a part of the people. */
export function recordsOf(users: Entry[], { roles }: BaseRecords): ImportedRecords {
  return { resources: [], roles: [...roles], users, applications: [] };
}

/** What was answered. Throws CommandError if something is refused that cannot be left out. */
export function accepted<T>({ answer, mistakes }: Answer<T>): T {
  if (answer !== undefined) return answer;
  throw new CommandError(mistakes.map(({ key, message }) => `${key}: ${message}`).join('\n'));
}

/** Leaves out what is refused, and returns the lines. Throws CommandError if something cannot be left out. */
export function withoutMistakes(
  records: ImportedRecords,
  mistakes: readonly Mistake[],
  before = 0,
): readonly string[] {
  return leaveOut(records, mistakes, before) ?? accepted<readonly string[]>({ mistakes });
}

/** What is left out of all people, in their order, without a call. Their parts have to come one after the other. */
export function cleaning({ present, allowed, imported }: Importing, base: BaseRecords) {
  const builtIn = leavingOutBuiltIn(base, allowed.allowAdministration);
  const roles = [...present.roles.map(({ name }) => name), ...imported.records.roles];
  const unknown = present.isOurs ? undefined : leavingOutUnknownRoles(roles);
  const { issuer } = present.own;
  const userIds = issuer === undefined ? leavingOutUserIds() : undefined;
  const passkeys = leavingOutPasskeys(issuer === undefined ? undefined : new URL(issuer).hostname);
  const taken = new Set<string>();
  const shared: string[] = [];
  return {
    of(users: Entry[]): void {
      builtIn.of(users);
      append(shared, leaveOutShared({ users }, taken));
      unknown?.of(users);
      userIds?.of(users);
      passkeys.of(users);
    },
    lines: () => [
      ...builtIn.lines(),
      ...shared,
      ...(unknown?.lines() ?? []),
      ...(userIds?.lines() ?? []),
      ...passkeys.lines(),
    ],
  };
}

/** A copy of everything but people. */
export function baseOf({ imported: { records } }: Pick<Importing, 'imported'>): BaseRecords {
  const { resources, roles, applications, providers = [] } = records;
  return structuredClone({ resources, roles, applications, providers });
}
