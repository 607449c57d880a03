import type { ApplyDeclaredStateResponse } from '@tessera/proto-gen/admin-declared_state';
import { CommandError } from '../terminal.ts';
import type { CheckedImport } from './check-import.ts';
import type { Entry } from './files/imported.ts';
import {
  accepted,
  baseEntry,
  baseOf,
  cleaning,
  everyKind,
  hasBase,
  keptAtTheEnd,
  mostGone,
  mostRounds,
  peopleEntry,
  recordsOf,
  withoutMistakes,
  type Importing,
} from './importing.ts';
import { append, inLists, inParts } from './parts.ts';

/** What an import has changed. */
export interface ImportedCounts {
  readonly created: number;
  readonly updated: number;
  readonly deleted: number;
  /** User names of created people whose namesakes were deleted. */
  readonly newPeople: readonly string[];
}

/** What an import tells while it is applied. */
interface Told {
  /** A part is there. */
  begun(): void;
  /** Something is left out because of what others did since the check. */
  leftOut(line: string): void;
  /** Everything but people is there. */
  baseApplied(): void;
}

/**
 * Applies a checked import part by part. Each may be applied again, so that an interrupted import goes on when it is
 * repeated; nothing is deleted before all parts are there. Throws CommandError, with what stays.
 */
export async function applyImport(
  importing: Importing,
  checked: CheckedImport,
  told: Told,
): Promise<ImportedCounts> {
  const { calls, allowed, imported, tenantId: id, progress } = importing;
  const { base, steps, total } = checked;
  const counts = { created: 0, updated: 0, deleted: 0, newPeople: [] as string[] };
  const adding = { ...allowed, allowDelete: false };
  let [hasBegun, people, place] = [false, 0, 0];
  const count = ({ created, updated, deleted, newPeople }: ApplyDeclaredStateResponse): void => {
    hasBegun = true;
    told.begun();
    counts.created += created;
    counts.updated += updated;
    counts.deleted += deleted;
    append(counts.newPeople, newPeople);
  };
  const apply = async (users: Entry[]): Promise<void> => {
    const records = recordsOf(users, base);
    for (let round = 0; users.length > 0; round += 1) {
      if (round === mostRounds) throw new Error('what is left out leaves new mistakes');
      const part = { entry: peopleEntry({ id }, base, users), keptKinds: everyKind };
      const { answer, mistakes } = await calls.apply(part, adding);
      if (answer !== undefined) {
        count(answer);
        break;
      }
      for (const line of withoutMistakes(records, mistakes)) if (!checked.lines.has(line)) told.leftOut(line);
    }
    people += users.length;
    progress.is(`Importing, ${people} of ${total} people`);
  };
  try {
    if (hasBase(importing)) {
      count(accepted(await calls.apply({ entry: baseEntry(importing, base), keptKinds: everyKind }, adding)));
      told.baseApplied();
    }
    const cleaned = cleaning(importing, baseOf(importing));
    for (const { users } of inParts(imported.records.users)) {
      cleaned.of(users);
      const records = recordsOf(users, base);
      for (const step of steps[place] ?? []) step(records);
      place += 1;
      await apply(users);
    }
    for (const usernames of inLists(checked.gone, mostGone)) {
      const part = { entry: { id }, keptKinds: everyKind, deletedUsers: usernames };
      count(accepted(await calls.apply(part, allowed)));
    }
    for (const { users } of inParts(checked.postponed)) await apply(users);
    if (checked.hasGoneRecords) {
      const part = { entry: baseEntry(importing, base), keptKinds: keptAtTheEnd };
      count(accepted(await calls.apply(part, allowed)));
    }
    return counts;
  } catch (error) {
    if (!(error instanceof CommandError) || !hasBegun) throw error;
    const said = `${people} of ${total} people were imported, and stay; the same import goes on behind them.`;
    const why = error.message.replace(
      /^Nothing (of \S+ )?was applied/,
      'Nothing of the next part was applied',
    );
    throw new CommandError(`${said} ${why}`, error.exitCode);
  }
}
