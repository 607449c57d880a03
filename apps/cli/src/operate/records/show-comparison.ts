import type { ComparedFile, FileDifference } from '@tessera/directory/apply-file';
import { CommandError, type Terminal } from '../../terminal.ts';

/** What a declared state may do only if it is told so. */
export interface Allowed {
  readonly allowDelete: boolean;
  readonly allowAdministration: boolean;
}

/** What is said of a created person whose namesake was deleted. */
export const aNewPerson = 'a new person with a new `sub`; the deleted one of that name can be restored';

/** Prints a line for each record that would change. */
export function showDifferences(response: ComparedFile, { out }: Pick<Terminal, 'out'>): void {
  for (const line of linesOf(response)) out(line);
}

/**
 * Prints who would have no way in or would get powers over the administration, and what applying needs. Returns whether
 * something would change, and the options without which applying would be refused.
 */
export function showNeeds(
  response: ComparedFile,
  { allowDelete, allowAdministration }: Allowed,
  terminal: Pick<Terminal, 'out' | 'say'>,
): { readonly differs: boolean; readonly needed: readonly string[] } {
  const shutOut = linesOfShutOut(response);
  for (const line of shutOut) terminal.out(line);
  const given = linesOfAdministration(response);
  for (const line of given) terminal.out(line);
  const differs = response.tenants.some(({ differences }) => differences.length > 0) || given.length > 0;
  if (!differs) terminal.say('Nothing would change.\n');
  const { length: count } = linesOf(response, isGuarded);
  const reasons = [
    ...(count === 0 ? [] : [`${count} ${count === 1 ? 'deletion' : 'deletions'}`]),
    ...(shutOut.length === 0 ? [] : ['people who would have no way in']),
  ];
  const needed: string[] = [];
  if (reasons.length > 0 && !allowDelete) {
    needed.push('--allow-delete');
    terminal.say(`Applying it needs --allow-delete, for ${reasons.join(', and ')}.\n`);
  }
  if (given.length > 0 && !allowAdministration) {
    needed.push('--allow-administration');
    terminal.say('Applying it needs --allow-administration, as these are powers over the administration.\n');
  }
  return { differs, needed };
}

/**
 * Throws CommandError with exit code 3, after a list, for deletions that must be allowed, and for people who would have
 * no way in.
 */
export function refuseDeletions(response: ComparedFile, { out }: Pick<Terminal, 'out'>): void {
  const lines = [...linesOf(response, isGuarded), ...linesOfShutOut(response)];
  if (lines.length === 0) return;
  for (const line of lines) out(line);
  throw new CommandError(
    'Nothing was applied. Declare these records, delete them with --allow-delete, or, if the file only adds to a tenant, give it an owner of its own (owner: in the file, or --owner). A deleted person who is declared again gets a new `sub`; `tessera user restore` brings back the old one for 30 days.',
    3,
  );
}

/** Who would have no way in, as lines. */
function linesOfShutOut({ tenants }: ComparedFile): string[] {
  return tenants.flatMap(({ tenantId, withoutWayIn }) =>
    withoutWayIn.map((name) => `${tenantId}: user ${name} would have no way in without what it takes away\n`),
  );
}

/** Who would get powers over the administration, as lines. */
function linesOfAdministration({ tenants }: ComparedFile): string[] {
  return tenants.flatMap(({ tenantId, administration }) =>
    administration.map(({ kind, name, powers, by }) => {
      const reason = by.length === 0 ? '' : ` (by ${by.join(', ')})`;
      return `${tenantId}: ${kind} ${name} would get ${powers.join(', ')}${reason}\n`;
    }),
  );
}

/** A deletion that must be allowed. */
const isGuarded = ({ needsAllowDelete }: FileDifference): boolean => needsAllowDelete;

function linesOf(
  { tenants }: ComparedFile,
  isListed: (difference: FileDifference) => boolean = () => true,
): string[] {
  return tenants.flatMap(({ tenantId, differences }) =>
    differences.filter(isListed).map((difference) => `${tenantId}: ${described(difference)}\n`),
  );
}

function described({ kind, name, change, keys, wasDeleted }: FileDifference): string {
  if (wasDeleted) return `${kind} ${name} would be ${aNewPerson}`;
  return `${kind} ${name} would be ${change}${keys.length === 0 ? '' : ` (${keys.join(', ')})`}`;
}
