/** Of the list in a message, in characters: it travels in a gRPC trailer and fits into a log line. */
const maxListLength = 3000;

/** A record as messages name it. */
interface NamedRecord {
  readonly tenantId: string;
  readonly kind: string;
  readonly name: string;
}

/**
 * The message for deletions that were not allowed, and for people who would have no way in; undefined if there are
 * none.
 */
export function unallowedDeletions({
  deletions,
  shutOut,
}: {
  readonly deletions: readonly NamedRecord[];
  readonly shutOut: readonly NamedRecord[];
}): string | undefined {
  const reasons = [
    { of: deletions, reason: 'the declared state leaves out records, and applying it would delete them' },
    {
      of: shutOut,
      reason:
        'without the providers, passkeys and identities that it takes away, people would have no way in',
    },
  ].filter(({ of }) => of.length > 0);
  if (reasons.length === 0) return undefined;
  const lists = reasons.map(({ of, reason }) => `${reason}:\n${shortened(of.map(lineOf))}\n`);
  return (
    `Nothing was applied: ${lists.join('And ')}` +
    'Declare them, give a file that only adds to the tenant an owner of its own (`owner:`), or allow the deletion: ' +
    '`tessera apply --allow-delete`, `state.allowDelete` of the chart, or ' +
    'TESSERA_APPLY_ALLOW=delete for TESSERA_APPLY_FILE. A deleted person who is declared again gets a new `sub`; `tessera user restore` brings back the old one for 30 days.'
  );
}

/** The message for powers over the administration that were not allowed; undefined if there are none. */
export function unallowedAdministration(
  given: readonly (NamedRecord & { readonly powers: readonly string[]; readonly by: readonly string[] })[],
): string | undefined {
  if (given.length === 0) return undefined;
  const lines = given.map(({ powers, by, ...record }) => {
    const reason = by.length === 0 ? '' : ` (by ${by.join(', ')})`;
    return `${lineOf(record)}: ${powers.join(', ')}${reason}`;
  });
  return (
    `Nothing was applied: applying the declared state would give powers over the administration:\n${shortened(lines)}\n` +
    'Remove these roles, scopes and changes, or allow it: `tessera apply --allow-administration`, `state.allowAdministration` of the chart, or ' +
    'TESSERA_APPLY_ALLOW=administration for TESSERA_APPLY_FILE.'
  );
}

function lineOf({ tenantId, kind, name }: NamedRecord): string {
  return `${tenantId}: ${kind} ${name}`;
}

/** A list, as long as an error message may be. */
export function shortened(lines: readonly string[]): string {
  let length = 0;
  const shown = lines.filter((line) => (length += line.length + 1) <= maxListLength);
  const rest = lines.length - shown.length;
  return [...shown, ...(rest > 0 ? [`and ${rest} more (\`tessera diff\` lists all)`] : [])].join('\n');
}
