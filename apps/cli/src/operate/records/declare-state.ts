import {
  applyFile,
  checkFile,
  DeclaredStateError,
  diffFile,
  type ApplyFileOptions,
  type ComparedFile,
  type FileDifference,
  type TenantComparison,
} from '@tessera/directory/apply-file';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { ConfigError } from '@tessera/process/settings';
import { Code, ConnectError } from '@tessera/rpc/caller';
import { CommandError, type Terminal } from '../../terminal.ts';
import { counted, impactLines } from './show-impact.ts';
import { withService, type ClientOf } from './with-service.ts';
import { withoutOwnNames } from '../../settings.ts';

/** Hashing the passwords of a large file takes long. */
const timeoutMs = 120_000;

/** A text that is in no file; the name is for messages. */
interface NamedText {
  readonly fileName: string;
  readonly read: () => Promise<string>;
}

/** Who declares the records, and whether they are taken over from others. */
export interface Declaring {
  readonly owner?: string;
  readonly takeOver: boolean;
}

/** What a declared state may do only if it is told so. */
export interface Allowed {
  readonly allowDelete: boolean;
  readonly allowAdministration: boolean;
}

/**
 * Applies a declared state. Throws CommandError with every error in the file, and with exit code 3 after a list of what
 * needs `allowDelete` or `allowAdministration`, of records of other owners, or of what clashes with them.
 */
export async function applyState(
  file: string | NamedText,
  { allowDelete, allowAdministration, ...declaring }: Allowed & Declaring,
  terminal: Terminal,
): Promise<void> {
  const [name, sources] = documentOf(file, terminal);
  const { tenants } = await withService('directory', terminal, {
    name: 'Applying',
    timeoutMs,
    run: async (clientOf, call) => {
      const options = { ...sources, ...declaring, ...clientsOf(clientOf), call };
      try {
        // Compatibility until 0.3: a directory of version 0.1 deletes without a question, so it is asked first.
        if (!allowDelete)
          refuseDeletions(await diffFile(name, { ...options, deletionsOnly: true }), terminal);
        return await applyFile(name, { ...options, allowDelete, allowAdministration });
      } catch (error) {
        return explain(name)(error);
      }
    },
  });
  for (const { tenantId, created, updated, deleted, newPeople } of tenants) {
    terminal.say(`${tenantId}: ${created} created, ${updated} updated, ${deleted} deleted\n`);
    for (const name of newPeople) terminal.say(`${tenantId}: user ${name} is ${aNewPerson}\n`);
  }
}

/**
 * Prints a line for each record that applying would change, for each that would get powers over the administration, and
 * with `impact` for whom it ends what was issued. Resolves with whether there are any, and the options without which
 * applying would be refused. Throws as `applyState`, but for those.
 */
export async function diffState(
  file: string | NamedText,
  { allowDelete, allowAdministration, ...options }: { readonly impact?: boolean } & Allowed & Declaring,
  terminal: Terminal,
): Promise<{ readonly differs: boolean; readonly needed: readonly string[] }> {
  const [name, sources] = documentOf(file, terminal);
  const response = await withService('directory', terminal, {
    name: 'Comparing',
    timeoutMs,
    run: async (clientOf, call) =>
      diffFile(name, { ...sources, ...options, ...clientsOf(clientOf), call }).catch(explain(name)),
  });
  const lines = linesOf(response);
  for (const line of lines) terminal.out(line);
  if (options.impact === true)
    for (const line of await linesOfImpact(response.tenants, terminal)) terminal.out(line);
  const shutOut = linesOfShutOut(response);
  for (const line of shutOut) terminal.out(line);
  const given = linesOfAdministration(response);
  for (const line of given) terminal.out(line);
  if (lines.length + given.length === 0) terminal.say('Nothing would change.\n');
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
  return { differs: lines.length + given.length > 0, needed };
}

/** Compatibility until 0.3: `admin` is for directories of version 0.1, and for files of several tenants. */
function clientsOf(clientOf: ClientOf): Pick<ApplyFileOptions, 'admin' | 'declaredState'> {
  return { admin: clientOf(DirectoryAdminService), declaredState: clientOf(DeclaredStateService) };
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

/**
 * Throws CommandError with exit code 3, after a list, for deletions that must be allowed, and for people who would have
 * no way in.
 */
function refuseDeletions(response: ComparedFile, { out }: Terminal): void {
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
    withoutWayIn.map((name) => `${tenantId}: user ${name} would have no way in without the provider\n`),
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

/** Compatibility until 0.3: a directory of version 0.1 does not mark the deletions that must be allowed. */
function isGuarded({ kind, change, needsAllowDelete }: FileDifference): boolean {
  return needsAllowDelete || (change === 'deleted' && (kind === 'user' || kind === 'application'));
}

function linesOf(
  { tenants }: ComparedFile,
  isListed: (difference: FileDifference) => boolean = () => true,
): string[] {
  return tenants.flatMap(({ tenantId, differences }) =>
    differences.filter(isListed).map((difference) => `${tenantId}: ${described(difference)}\n`),
  );
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
  file: string | NamedText,
  { environment, input }: Terminal,
): [fileName: string, options: Pick<ApplyFileOptions, 'environment' | 'read'>] {
  if (typeof file !== 'string') return [file.fileName, { environment, read: file.read }];
  if (file !== '-') return [file, { environment }];
  let text: Promise<string> | undefined;
  return ['standard input', { environment, read: () => (text ??= input()) }];
}

const aNewPerson = 'a new person with a new `sub`; the deleted one of that name can be restored';

function described({ kind, name, change, keys, wasDeleted }: FileDifference): string {
  if (wasDeleted) return `${kind} ${name} would be ${aNewPerson}`;
  return `${kind} ${name} would be ${change}${keys.length === 0 ? '' : ` (${keys.join(', ')})`}`;
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
