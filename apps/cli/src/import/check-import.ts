import {
  isGuardedDeletion,
  isSharedIdentifier,
  isSomebodyElse,
  isSomebodysName,
  normalizeIdentifier,
} from '@tessera/directory';
import type { FileDifference, TenantComparison } from '@tessera/directory/apply-file';
import { CommandError } from '../terminal.ts';
import type { Entry, ImportedRecords } from './files/imported.ts';
import {
  accepted,
  baseEntry,
  baseOf,
  checkedPeople,
  cleaning,
  everyKind,
  hasBase,
  headOf,
  keptAtTheEnd,
  mostGone,
  mostRounds,
  peopleEntry,
  recordsOf,
  withoutMistakes,
  type BaseRecords,
  type Importing,
} from './importing.ts';
import { leaveOut, type Mistake } from './leave-out.ts';
import { countingPeople, type CountingPeople, type PeopleCounts } from './outcome/people-counts.ts';
import type { Answer } from './part-calls.ts';
import { append, inLists, inParts, type PeoplePart } from './parts.ts';
import { readGonePeople, type GonePeople } from './present-tenant.ts';

/** Leaves something out of a part of the people. */
type Step = (records: ImportedRecords) => void;

/** An import that would be applied as it is now, as far as everything that is needed is allowed. */
export interface CheckedImport {
  readonly base: BaseRecords;
  /** Of each part of the people, what is left out besides what nobody needs to be asked about. */
  readonly steps: readonly (readonly Step[])[];
  /** People who have a name or an address that somebody else has now: perhaps somebody who is changed or deleted. */
  readonly postponed: readonly Entry[];
  /** How many people are imported. */
  readonly total: number;
  /** Who comes, by what they need. */
  readonly people: PeopleCounts;
  /** User names of people of the owner who are gone. */
  readonly gone: readonly string[];
  /** Whether other records of the owner are gone. */
  readonly hasGoneRecords: boolean;
  /** What is left out. */
  readonly lines: ReadonlySet<string>;
  /** Deletions alone, unless it is a dry run. */
  readonly comparison: TenantComparison;
}

const clashes = new Set([isSharedIdentifier, isSomebodyElse, isSomebodysName]);

/**
 * Finds what of an import is left out, what it deletes and what else it needs, and changes nothing. Throws CommandError
 * for records of other owners.
 */
export async function checkImport(importing: Importing): Promise<CheckedImport> {
  const { imported, tenantId, present, directory, calls, dryRun, progress } = importing;
  const base = baseOf(importing);
  const cleaned = cleaning(importing, base);
  const lines: string[] = [];
  const differences: FileDifference[] = [];
  const administration: TenantComparison['administration'][number][] = [];
  const found: Found = {
    ask: async (entry, deletedUsers = []) =>
      calls.diff({ entry, keptKinds: everyKind, deletedUsers }, !dryRun),
    note(answer, isCounted) {
      if (answer.differences.some(({ change }) => change === 'deleted')) throw tooOld();
      append(differences, answer.differences.filter(isCounted));
      append(administration, answer.administration);
    },
    leave: (records, mistakes, before) => append(lines, withoutMistakes(records, mistakes, before)),
  };
  if (hasBase(importing)) await checkBase(importing, base, found);
  const steps: Step[][] = [];
  const postponed: Entry[] = [];
  let total = 0;
  const declared = { names: new Set<string>(), userIds: new Set<string>() };
  const note = ({ username, userId }: Entry): void => {
    total += 1;
    // Where there is nobody yet, nobody can be gone.
    if (!present.exists) return;
    declared.names.add(normalizeIdentifier(String(username)));
    if (typeof userId === 'string') declared.userIds.add(userId);
  };
  const people = countingPeople();
  let read = 0;
  for (const part of inParts(imported.records.users)) {
    read += part.users.length;
    cleaned.of(part.users);
    steps.push(await checkPart(importing, part, { ...found, base, postponed }));
    for (const user of part.users) note(user);
    people.add(part.users);
    progress.is(`Checking, ${read} people`);
  }
  for (const user of postponed) note(user);
  const owned = { tenantId, owner: imported.owner };
  const gone: GonePeople = present.exists
    ? await readGonePeople(owned, declared, directory)
    : { usernames: [], hasPeople: false };
  // Where nobody is changed or deleted, nobody gives up what somebody else needs.
  if (dryRun || !gone.hasPeople)
    await checkPostponed(importing, postponed, { ...found, base, people, gone: gone.usernames });
  else people.add(postponed);
  for (const usernames of inLists(gone.usernames, mostGone)) {
    const part = { entry: { id: tenantId }, keptKinds: everyKind, deletedUsers: usernames };
    append(differences, accepted(await calls.diff(part, true)).differences);
  }
  const goneRecords = await readGoneRecords(importing, base);
  append(differences, goneRecords);
  return {
    base,
    steps,
    postponed,
    total,
    people: people.counts(),
    gone: gone.usernames,
    hasGoneRecords: goneRecords.length > 0,
    lines: new Set([...imported.leftOut, ...cleaned.lines(), ...lines]),
    comparison: { tenantId, differences, administration, withoutWayIn: [] },
  };
}

type Compared = Pick<TenantComparison, 'differences' | 'administration'>;

/** Where the parts of a check put what they find. */
interface Found {
  ask(entry: Entry, deletedUsers?: readonly string[]): Promise<Answer<Compared>>;
  note(answer: Compared, isCounted: (difference: FileDifference) => boolean): void;
  leave(records: ImportedRecords, mistakes: readonly Mistake[], before?: number): void;
}

async function checkBase(importing: Importing, base: BaseRecords, found: Found): Promise<void> {
  const { calls } = importing;
  const records = { ...base, users: [] };
  for (let round = 0; round < mostRounds; round += 1) {
    const entry = baseEntry(importing, base);
    const mistakes = await calls.mistakesIn(entry);
    const asked: Answer<Compared> = mistakes.length > 0 ? { mistakes } : await found.ask(entry);
    if (asked.answer !== undefined) return found.note(asked.answer, () => true);
    found.leave(records, asked.mistakes);
  }
  throw endless();
}

/** Leaves out of a part what is refused, and puts aside who clashes with somebody. Returns how it was done. */
async function checkPart(
  importing: Importing,
  { users, before }: PeoplePart,
  { base, postponed, ...found }: Found & { readonly base: BaseRecords; readonly postponed: Entry[] },
): Promise<Step[]> {
  const { calls } = importing;
  const head = headOf(importing);
  const records = recordsOf(users, base);
  const steps: Step[] = [];
  for (let round = 0; round < mostRounds; round += 1) {
    if (users.length === 0) return steps;
    const own = await calls.mistakesIn(peopleEntry(head, base, users));
    const asked: Answer<Compared> =
      own.length > 0 ? { mistakes: own } : await found.ask(checkedPeople(importing, base, users));
    if (asked.answer !== undefined) {
      found.note(asked.answer, ({ kind }) => kind === 'user');
      return steps;
    }
    const { mistakes } = asked;
    const clashing = own.length > 0 ? new Set<number>() : clashingIn(mistakes);
    if (clashing.size > 0) {
      append(
        postponed,
        users.filter((_, index) => clashing.has(index)),
      );
      const step: Step = (of) => {
        const others = of.users.filter((_, index) => !clashing.has(index));
        of.users.splice(0, of.users.length, ...others);
      };
      step(records);
      steps.push(step);
    } else {
      found.leave(records, mistakes, before);
      steps.push((of) => void leaveOut(of, mistakes));
    }
  }
  throw endless();
}

/** The places of people who clash with others, however the part is changed. */
function clashingIn(mistakes: readonly Mistake[]): Set<number> {
  const places = mistakes.flatMap(({ key, message }) => {
    const [, index] = /^tenants\[0\]\.users\[(\d+)\]/.exec(key) ?? [];
    return index !== undefined && clashes.has(message) ? [Number(index)] : [];
  });
  return new Set(places);
}

/** Where people give up names one after the other, the import itself may take more than this shows. */
async function checkPostponed(
  importing: Importing,
  postponed: readonly Entry[],
  {
    base,
    people,
    gone,
    ...found
  }: Found & {
    readonly base: BaseRecords;
    readonly people: CountingPeople;
    readonly gone: readonly string[];
  },
): Promise<void> {
  for (const { users } of inParts(postponed)) {
    const records = recordsOf(users, base);
    for (let round = 0; users.length > 0; round += 1) {
      if (round === mostRounds) throw endless();
      const asked = await found.ask(checkedPeople(importing, base, users), gone.slice(0, mostGone));
      if (asked.answer === undefined) found.leave(records, asked.mistakes);
      else {
        const ofPeople = asked.answer.differences.filter(({ change }) => change !== 'deleted');
        found.note({ ...asked.answer, differences: ofPeople }, ({ kind }) => kind === 'user');
        people.add(users);
        break;
      }
    }
  }
}

/** Records of the owner, other than people, that the import no longer has. */
async function readGoneRecords(importing: Importing, base: BaseRecords): Promise<FileDifference[]> {
  const { present, calls, imported } = importing;
  if (!present.exists || !hasBase(importing)) return [];
  const part = { entry: baseEntry(importing, base), keptKinds: [...keptAtTheEnd, 'role'] };
  const { differences } = accepted(await calls.diff(part, true));
  // People may still have them.
  const roles = present.roles.filter(
    ({ name, owner }) => owner === imported.owner && !base.roles.includes(name),
  );
  const needsAllowDelete = isGuardedDeletion('role', roles.length, present.roles.length);
  return [
    ...differences,
    ...roles.map(({ name }) => ({
      kind: 'role',
      name,
      change: 'deleted',
      keys: [],
      needsAllowDelete,
      wasDeleted: false,
    })),
  ];
}

function endless(): Error {
  return new Error('what is left out leaves new mistakes');
}

function tooOld(): CommandError {
  return new CommandError(
    'Importing cannot be done: the process that was asked is of a version that does not know parts. Upgrade it first.',
  );
}
