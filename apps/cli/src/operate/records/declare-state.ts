import {
  applyFile,
  checkFile,
  DeclaredStateError,
  diffFile,
  type ApplyFileOptions,
  type FileProgress,
  type TenantComparison,
} from '@tessera/directory/apply-file';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ConfigError } from '@tessera/process/settings';
import { Code, ConnectError } from '@tessera/rpc/caller';
import { CommandError, type Terminal } from '../../terminal.ts';
import { shownProgress } from './file-progress.ts';
import { aNewPerson, showDifferences, showNeeds, type Allowed } from './show-comparison.ts';
import { counted, impactLines } from './show-impact.ts';
import { withService } from './with-service.ts';
import { withoutOwnNames } from '../../settings.ts';

/** Hashing the passwords of a large file takes long. */
const timeoutMs = 120_000;

/** Who declares the records, and whether they are taken over from others. */
export interface Declaring {
  readonly owner?: string;
  readonly takeOver: boolean;
}

/**
 * Applies a declared state, and says of each tenant when it is applied. Throws CommandError with every error in the
 * file, and with exit code 3 after a list of what needs `allowDelete` or `allowAdministration`, of records of other
 * owners, or of what clashes with them.
 */
export async function applyState(
  file: string,
  { allowDelete, allowAdministration, ...declaring }: Allowed & Declaring,
  terminal: Terminal,
): Promise<void> {
  const [name, sources] = documentOf(file, terminal);
  const shown = shownProgress('Applying');
  const said = new Set<string>();
  const progress: FileProgress = {
    ...shown,
    applied({ tenantId, created, updated, deleted, newPeople }) {
      // Where a store was unavailable it is done again, from the beginning.
      if (said.has(tenantId)) return;
      said.add(tenantId);
      terminal.say(`${tenantId}: ${created} created, ${updated} updated, ${deleted} deleted\n`);
      for (const person of newPeople) terminal.say(`${tenantId}: user ${person} is ${aNewPerson}\n`);
    },
  };
  await withService('directory', terminal, {
    name: 'Applying',
    changes: true,
    progress: shown.is,
    timeoutMs,
    run: async (clientOf, call) => {
      const declaredState = clientOf(DeclaredStateService);
      const options = { ...sources, ...declaring, declaredState, call, progress };
      await applyFile(name, { ...options, allowDelete, allowAdministration }).catch(explain(name));
    },
  });
}

/**
 * Prints a line for each record that applying would change, for each that would get powers over the administration, and
 * with `impact` for whom it ends what was issued. Resolves with whether there are any, and the options without which
 * applying would be refused. Throws as `applyState`, but for those.
 */
export async function diffState(
  file: string,
  { allowDelete, allowAdministration, ...options }: { readonly impact?: boolean } & Allowed & Declaring,
  terminal: Terminal,
): Promise<{ readonly differs: boolean; readonly needed: readonly string[] }> {
  const [name, sources] = documentOf(file, terminal);
  const progress = shownProgress('Comparing');
  const response = await withService('directory', terminal, {
    name: 'Comparing',
    changes: false,
    saysWhere: true,
    progress: progress.is,
    timeoutMs,
    async run(clientOf, call) {
      const declaredState = clientOf(DeclaredStateService);
      return diffFile(name, { ...sources, ...options, declaredState, call, progress }).catch(explain(name));
    },
  });
  showDifferences(response, terminal);
  if (options.impact === true)
    for (const line of await linesOfImpact(response.tenants, terminal)) terminal.out(line);
  return showNeeds(response, { allowDelete, allowAdministration }, terminal);
}

/** What applying would end, as lines. Throws CommandError if the directory does not know. */
async function linesOfImpact(tenants: readonly TenantComparison[], terminal: Terminal): Promise<string[]> {
  const impacts = tenants.map(({ impact }) => {
    if (impact !== undefined) return impact;
    throw new CommandError(
      'The process that was asked is of a version that does not know the impact. Upgrade it first.',
    );
  });
  const completed = await counted(impacts, terminal);
  return tenants.flatMap(({ tenantId }, at) => {
    const impact = completed[at];
    return impact === undefined ? [] : impactLines(tenantId, impact);
  });
}

/** Checks a declared state offline. Throws CommandError with every error in the file. */
export async function checkState(file: string, { say, ...sources }: Terminal): Promise<void> {
  const { tenants, absent, warnings } = await readState(file, sources);
  for (const warning of warnings) say(`Warning: ${warning}.\n`);
  for (const { key, message } of absent) say(`${key} is not checked: ${message}.\n`);
  say(`${tenants.length} ${tenants.length === 1 ? 'tenant' : 'tenants'}, no mistakes.\n`);
}

/**
 * Reads and checks a declared state offline; `absent` are references whose values are not here. Throws as `checkState`.
 */
export async function readState(
  file: string,
  { environment, input }: Pick<Terminal, 'environment' | 'input'>,
): ReturnType<typeof checkFile> {
  const [name, options] = file === '-' ? ['standard input', { read: input }] : [file, {}];
  return checkFile(name, { environment: withoutOwnNames(environment), ...options }).catch(explain(file));
}

/** Options of `applyFile` and `diffFile`; the file name `-` means standard input, which is read once. */
function documentOf(
  file: string,
  { environment, input }: Terminal,
): [fileName: string, options: Pick<ApplyFileOptions, 'environment' | 'read'>] {
  if (file !== '-') return [file, { environment }];
  let text: Promise<string> | undefined;
  return ['standard input', { environment, read: () => (text ??= input()) }];
}

function explain(file: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof DeclaredStateError || error instanceof ConfigError)
      throw new CommandError(error.message);
    if (error instanceof ConnectError && error.code === Code.FailedPrecondition)
      throw new CommandError(error.rawMessage, 3);
    if (error instanceof Error && 'syscall' in error && 'code' in error)
      throw new CommandError(
        `--file names ${file}, which cannot be read (${String(error.code)}). Correct the path or its permissions.`,
      );
    throw error;
  };
}
