import { basename } from 'node:path';
import {
  aNewPerson,
  refuseDeletions,
  showDifferences,
  showNeeds,
  type Allowed,
} from '../operate/records/show-comparison.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import { applyImport } from './apply-import.ts';
import { checkImport, type CheckedImport } from './check-import.ts';
import type { Imported } from './files/imported.ts';
import { printable } from './from/notes.ts';
import type { Importing } from './importing.ts';
import { createPartCalls } from './part-calls.ts';
import { readPresentTenant, withIssuer } from './present-tenant.ts';
import { progressAt } from './progress.ts';
import { reachDirectory } from './reached-directory.ts';

export interface ImportOptions extends Allowed {
  readonly tenant: string;
  readonly dryRun: boolean;
  readonly takeOver: boolean;
  /** That the tenant gets; undefined: it keeps its own. */
  readonly issuer?: string | undefined;
}

/**
 * Applies what was read as a declared state of its own owner, part by part: a second import of the same files changes
 * nothing, and one of newer files what differs. Everything is checked before the first part is applied. Prints a line
 * for each thing that is left out, because of `imported` or because a rule refuses it. Throws CommandError as
 * `tessera apply` does.
 */
export async function importRecords(
  imported: Imported,
  { tenant: tenantId, dryRun, takeOver, issuer, ...allowed }: ImportOptions,
  terminal: Terminal,
): Promise<void> {
  const progress = progressAt(terminal);
  const directory = reachDirectory(progress.terminal, !dryRun);
  try {
    const found = await readPresentTenant(tenantId, imported, directory);
    const present = issuer === undefined ? found : withIssuer(tenantId, found, issuer);
    const calls = createPartCalls({ tenantId, owner: imported.owner, takeOver }, directory, terminal);
    const importing = { imported, tenantId, present, allowed, dryRun, directory, calls, progress };
    const checked = await checkImport(importing);
    const leftOut = (line: string) => terminal.out(`left out: ${printable(line)}\n`);
    for (const line of checked.lines) leftOut(line);
    requireAllowed(importing, checked, terminal);
    if (dryRun) return;
    const { newPeople, ...counts } = await applyImport(importing, checked, leftOut);
    const { created, updated, deleted } = counts;
    terminal.say(`${tenantId}: ${created} created, ${updated} updated, ${deleted} deleted\n`);
    for (const name of newPeople) terminal.say(`${tenantId}: user ${printable(name)} is ${aNewPerson}\n`);
  } finally {
    await directory.end();
    progress.end();
  }
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
