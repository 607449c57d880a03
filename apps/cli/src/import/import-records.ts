import { basename } from 'node:path';
import {
  aNewPerson,
  refuseDeletions,
  showDifferences,
  showNeeds,
  type Allowed,
} from '../operate/records/show-comparison.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { applyImport, type ImportedCounts } from './apply-import.ts';
import { checkImport, type CheckedImport } from './check-import.ts';
import type { Entry, Imported } from './files/imported.ts';
import { printable } from './files/printable.ts';
import { enabledOf, listsOf, printLists, type Stage } from './outcome/import-lists.ts';
import type { BaseRecords, Importing } from './importing.ts';
import { createPartCalls } from './part-calls.ts';
import { readPresentTenant, withIssuer } from './present-tenant.ts';
import { progressAt } from './progress.ts';
import { reachDirectory } from './reached-directory.ts';
import { settleApplications } from './settle-applications.ts';
import { requireReportPlace, writeReport } from './outcome/report-file.ts';
import { reportPage } from './outcome/report-page.ts';

export interface ImportOptions extends Allowed {
  readonly tenant: string;
  readonly dryRun: boolean;
  readonly takeOver: boolean;
  /** That the tenant gets; undefined: it keeps its own. */
  readonly issuer?: string | undefined;
  /** The file for a report. */
  readonly report?: string | undefined;
}

/** What an import has brought. */
export interface ImportedApplications {
  /** Those that are not disabled, with the secrets that are known. */
  readonly applications: readonly Entry[];
}

/**
 * Applies what was read as a declared state of its own owner, part by part: a second import of the same files changes
 * nothing, and one of newer files what differs. Everything is checked before the first part is applied. New secrets are
 * printed once; three lists end it, with a line for each thing that arrived, is to be done, or is left out, because of
 * `imported` or because a rule refuses it. Throws CommandError as `tessera apply` does.
 */
export async function importRecords(
  read: Imported,
  { tenant: tenantId, dryRun, takeOver, report, issuer, ...allowed }: ImportOptions,
  terminal: Terminal,
): Promise<ImportedApplications> {
  if (report !== undefined) await requireReportPlace(report);
  const progress = progressAt(terminal);
  const directory = reachDirectory(progress.terminal, !dryRun);
  try {
    const found = await readPresentTenant(tenantId, read, directory);
    const present = issuer === undefined ? found : withIssuer(tenantId, found, issuer);
    const settled = await settleApplications(read, { tenantId, present }, directory, terminal);
    const { imported } = settled;
    const calls = createPartCalls({ tenantId, owner: imported.owner, takeOver }, directory, terminal);
    const importing = { imported, tenantId, present, allowed, dryRun, directory, calls, progress };
    const checked = await checkImport(importing);
    const { base, people } = checked;
    const leftOut = new Set([...checked.lines, ...settled.keptLines]);
    let stage: Stage = 'checked';
    try {
      requireAllowed(importing, checked, terminal);
      if (!dryRun) {
        const counts = await applyImport(importing, checked, {
          begun: () => void (stage = 'begun'),
          leftOut: (line) => void leftOut.add(line),
          baseApplied: () => printSecrets(base, settled.made, terminal),
        });
        stage = 'applied';
        sayCounts(tenantId, counts, terminal);
      }
    } finally {
      const { total } = people;
      const lists = listsOf({ ...settled, base, people: total, leftOut });
      printLists(lists, stage, terminal);
      if (report !== undefined) {
        const applications = base.applications.map((each) =>
          settled.stayDisabled.has(String(each['clientId'])) ? { ...each, status: 'disabled' } : each,
        );
        const time = new Date(terminal.now()).toISOString();
        const { toDo } = imported;
        const page = { tenantId, time, isDryRun: dryRun, stage, lists, applications, toDo, people };
        await writeReport(report, reportPage(page));
      }
    }
    return { applications: enabledOf(base, settled.stayDisabled) };
  } finally {
    await directory.end();
    progress.end();
  }
}

/** The one time that new secrets are shown: as soon as they are valid, as the people of a large file take long. */
function printSecrets(
  { applications }: BaseRecords,
  made: ReadonlyMap<string, string>,
  { out, say }: Terminal,
): void {
  const shown = applications.flatMap(({ clientId }) => {
    const value = made.get(String(clientId));
    return value === undefined ? [] : [`new secret: ${String(clientId)} ${value}\n`];
  });
  if (shown.length > 0) say('New secrets are valid at once, and not shown again.\n');
  for (const line of shown) out(line);
}

function sayCounts(
  tenantId: string,
  { created, updated, deleted, newPeople }: ImportedCounts,
  { say }: Pick<Terminal, 'say'>,
): void {
  say(`${tenantId}: ${created} created, ${updated} updated, ${deleted} deleted\n`);
  for (const name of newPeople) say(`${tenantId}: user ${printable(name)} is ${aNewPerson}\n`);
}

/** Prints what a dry run, or somebody who has to allow it, is to know. Throws CommandError for what is not allowed. */
function requireAllowed(
  { allowed, dryRun }: Importing,
  { comparison }: CheckedImport,
  terminal: Terminal,
): void {
  const response = { tenants: [comparison] };
  if (dryRun) showDifferences(response, terminal);
  else if (!allowed.allowDelete) refuseDeletions(response, terminal);
  if (!dryRun && (allowed.allowAdministration || comparison.administration.length === 0)) return;
  const { needed } = showNeeds(response, allowed, terminal);
  if (needed.length > 0) throw new CommandError(`The import needs ${needed.join(' and ')}.`, 3);
}

/** The owner of what a file has, which differs from that of other files. */
export function ownerOf(file: string): string {
  const name =
    file === '-'
      ? ''
      : basename(file)
          .toLowerCase()
          .replaceAll(/[^a-z0-9._-]+/g, '-');
  return name === '' ? 'import' : `import:${name}`.slice(0, 128);
}
