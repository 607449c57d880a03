import { basename } from 'node:path';
import { stringify } from 'yaml';
import { checkFile, DeclaredStateError, diffFile } from '@tessera/directory/apply-file';
import { adminRoles } from '@tessera/oauth';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { ConfigError, isGiven, isPeerGiven } from '@tessera/process/settings';
import { Code, ConnectError, readPages, type CallOptions } from '@tessera/rpc/caller';
import { applyState, diffState, type Allowed } from '../operate/records/declare-state.ts';
import { orNotFound, withService, type ClientOf } from '../operate/records/with-service.ts';
import { withoutOwnNames } from '../settings.ts';
import { CommandError, type Terminal } from '../terminal.ts';
import type { Imported, ImportedRecords } from './files/imported.ts';
import { leaveOut, leaveOutBuiltIn, leaveOutShared } from './leave-out.ts';

export interface ImportOptions extends Allowed {
  readonly tenant: string;
  readonly dryRun: boolean;
  readonly takeOver: boolean;
}

/** What may be applied. */
interface Importable {
  readonly document: string;
  readonly leftOut: readonly string[];
}

const timeoutMs = 120_000;
/** Each leaves something out, which may be what another refers to. */
const mostRounds = 12;
/** Of a document, so that the message with it has no more than 4 MiB, which services take. */
const mostBytes = 4 * 1024 * 1024 - 4096;

/**
 * Applies what was read as a declared state of its own owner: a second import of the same files changes nothing, and
 * one of newer files what differs. Prints a line for each thing that is left out, because of `imported` or because a
 * rule refuses it. Throws CommandError as `tessera apply` does.
 */
export async function importRecords(
  imported: Imported,
  { tenant, dryRun, takeOver, ...allowed }: ImportOptions,
  terminal: Terminal,
): Promise<void> {
  const { owner } = imported;
  const { document, leftOut } = await withService('directory', terminal, {
    name: 'Importing',
    timeoutMs,
    run: async (clientOf, call) =>
      importable(imported, { tenant, takeOver, ...allowed }, { clientOf, call, terminal }),
  });
  for (const line of leftOut) terminal.out(`left out: ${line}\n`);
  const source = { fileName: fileNameOf(owner), read: async () => document };
  if (!dryRun) return applyState(source, { owner, takeOver, ...allowed }, terminal);
  const { needed } = await diffState(source, { owner, takeOver, ...allowed }, terminal);
  if (needed.length > 0) throw new CommandError(`The import needs ${needed.join(' and ')}.`, 3);
}

/** The name of the document in messages: nobody has its lines. */
function fileNameOf(owner: string): string {
  return `import of ${owner}`;
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

async function importable(
  { records: read, owner, tenantName, leftOut }: Imported,
  { tenant: id, takeOver, allowAdministration }: Omit<ImportOptions, 'dryRun' | 'allowDelete'>,
  { clientOf, call, terminal }: { clientOf: ClientOf; call: CallOptions; terminal: Terminal },
): Promise<Importable> {
  // It may run again if a store was unavailable.
  const records = structuredClone(read);
  const present = await clientOf(TenantsService)
    .get({ tenantId: id }, call)
    .catch((error: unknown) =>
      tenantName === undefined ? orNotFound(`There is no tenant ${id}.`)(error) : absent(error),
    );
  const isOurs = tenantName !== undefined && (present === undefined || present.owner === owner);
  const head = isOurs ? { id, name: tenantName } : { id };
  const documentOf = () => stringify({ tenants: [{ ...head, ...records }] }, { lineWidth: 0 });
  const lines = [...leftOut, ...leaveOutBuiltIn(records, allowAdministration), ...leaveOutShared(records)];
  if (!isOurs) lines.push(...leaveOutUnknownRoles(records, await rolesOf(id, clientOf, call)));
  const fileName = fileNameOf(owner);
  const environment = withoutOwnNames(terminal.environment);
  const admin = clientOf(DirectoryAdminService);
  for (let round = 0; round < mostRounds; round += 1) {
    const document = documentOf();
    refuseTooLarge(document, terminal);
    const source = { environment, read: async () => document };
    const mistakes = await mistakesOf(async () => {
      await checkFile(fileName, source);
      await diffFile(fileName, { ...source, admin, call, owner, takeOver, deletionsOnly: true });
    });
    if (mistakes.length === 0) return { document, leftOut: lines };
    const left = leaveOut(records, mistakes);
    if (left === undefined)
      throw new CommandError(mistakes.map(({ key, message }) => `${key}: ${message}`).join('\n'));
    lines.push(...left);
  }
  throw new Error('what is left out leaves new mistakes');
}

/** A call that is too large looks like one to repeat. Throws CommandError. */
function refuseTooLarge(document: string, { environment }: Terminal): void {
  const isCalled = isPeerGiven(environment, 'directory') || !isGiven(environment, 'DATABASE_URL');
  if (isCalled && Buffer.byteLength(document) > mostBytes)
    throw new CommandError(
      'This is more than one call may carry (4 MiB, some ten thousand people). Give DATABASE_URL and the pepper of the directory instead: then nothing is called.',
    );
}

function absent(error: unknown): undefined {
  if (error instanceof ConnectError && error.code === Code.NotFound) return undefined;
  throw error;
}

/** What the checks of the declared state refuse, here or at the directory, because of records of others too. */
async function mistakesOf(
  check: () => Promise<void>,
): Promise<readonly { readonly key: string; readonly message: string }[]> {
  try {
    await check();
    return [];
  } catch (error) {
    if (error instanceof DeclaredStateError) return error.problems;
    if (error instanceof ConfigError) throw new CommandError(error.message);
    if (!(error instanceof ConnectError)) throw error;
    const isConflict = error.code === Code.FailedPrecondition;
    const found = isConflict || error.code === Code.InvalidArgument ? problemsIn(error.rawMessage) : [];
    if (found.length > 0) return found;
    throw isConflict ? new CommandError(error.rawMessage, 3) : error;
  }
}

/** From `file:line:column: key: sentence`, line by line. */
function problemsIn(text: string): { key: string; message: string }[] {
  return text.split('\n').flatMap((line) => {
    const [, key = '', message = ''] = /:\d+:\d+: (tenants\[0\]\S*): (.*)$/.exec(line) ?? [];
    return key === '' ? [] : [{ key, message }];
  });
}

async function rolesOf(tenantId: string, clientOf: ClientOf, call: CallOptions): Promise<Set<string>> {
  const { found } = await readPages(async (page) => {
    const { roles, nextPageToken } = await clientOf(RolesService).list({ tenantId, ...page }, call);
    return { found: roles.map(({ name }) => name), nextPageToken };
  });
  return new Set(found);
}

/** One line for each role, however many people have it. */
function leaveOutUnknownRoles({ users, roles }: ImportedRecords, present: ReadonlySet<string>): string[] {
  const unknown = new Map<string, number>();
  for (const user of users) {
    const held = user['roles'];
    if (!Array.isArray(held)) continue;
    user['roles'] = held.filter((role) => {
      const isKnown =
        typeof role !== 'string' || present.has(role) || roles.includes(role) || adminRoles.has(role);
      if (!isKnown) unknown.set(role, (unknown.get(role) ?? 0) + 1);
      return isKnown;
    });
  }
  return [...unknown].map(([role, count]) => `role ${role} of ${count} people: is not a role of the tenant`);
}
