import {
  applyFile,
  checkFile,
  DeclaredStateError,
  diffFile,
  type ApplyFileOptions,
} from '@tessera/directory';
import { DirectoryAdminService, type Difference } from '@tessera/proto-gen/directory';
import { ConfigError } from '@tessera/process';
import { CommandError, type Terminal } from '../terminal.ts';
import { withService } from './service.ts';
import { withoutOwnNames } from './settings.ts';

/** Hashing the passwords of a large file takes long. */
const timeoutMs = 120_000;

/** Applies a declared state. Throws CommandError with every error in the file. */
export async function applyState(file: string, terminal: Terminal): Promise<void> {
  const { tenants } = await withService('directory', terminal, {
    name: 'Applying',
    instead: ' A process with embedded stores applies TESSERA_APPLY_FILE itself, at its start and at SIGHUP.',
    timeoutMs,
    run: async (clientOf, call) => {
      const admin = clientOf(DirectoryAdminService);
      return applyFile(...documentOf(file, terminal, { admin, call })).catch(explain(file));
    },
  });
  for (const { tenantId, created, updated, deleted } of tenants) {
    terminal.say(`${tenantId}: ${created} created, ${updated} updated, ${deleted} deleted\n`);
  }
}

/** Prints a line for each record that applying would change. Resolves with whether there are any. Throws as `applyState`. */
export async function diffState(file: string, terminal: Terminal): Promise<boolean> {
  const { tenants } = await withService('directory', terminal, {
    name: 'Comparing',
    instead: ' Only their own process can open embedded stores.',
    timeoutMs,
    run: async (clientOf, call) => {
      const admin = clientOf(DirectoryAdminService);
      return diffFile(...documentOf(file, terminal, { admin, call })).catch(explain(file));
    },
  });
  const lines = tenants.flatMap(({ tenantId, differences }) =>
    differences.map((difference) => `${tenantId}: ${described(difference)}\n`),
  );
  for (const line of lines) terminal.out(line);
  if (lines.length === 0) terminal.say('Nothing would change.\n');
  return lines.length > 0;
}

/** Checks a declared state offline. Throws CommandError with every error in the file. */
export async function checkState(file: string, { say, ...sources }: Terminal): Promise<void> {
  const { tenants, absent } = await readState(file, sources);
  for (const { key, message } of absent) say(`${key} is not checked: ${message}.\n`);
  say(`${tenants.length} ${tenants.length === 1 ? 'tenant' : 'tenants'}, no mistakes.\n`);
}

/** Reads and checks a declared state offline; `absent` are references whose values are not here. Throws as `checkState`. */
export async function readState(
  file: string,
  { environment, input }: Pick<Terminal, 'environment' | 'input'>,
): ReturnType<typeof checkFile> {
  const [name, options] = file === '-' ? ['standard input', { read: input }] : [file, {}];
  return checkFile(name, { environment: withoutOwnNames(environment), ...options }).catch(explain(file));
}

/** Options of `applyFile` and `diffFile`; the file name `-` means standard input. */
function documentOf(
  file: string,
  { environment, input }: Terminal,
  service: Pick<ApplyFileOptions, 'admin' | 'call'>,
): [fileName: string, options: ApplyFileOptions] {
  const options = { ...service, environment };
  return file === '-' ? ['standard input', { ...options, read: input }] : [file, options];
}

function described({ kind, name, change, keys }: Difference): string {
  return `${kind} ${name} would be ${change}${keys.length === 0 ? '' : ` (${keys.join(', ')})`}`;
}

function explain(file: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof DeclaredStateError || error instanceof ConfigError)
      throw new CommandError(error.message);
    if (error instanceof Error && 'syscall' in error && 'code' in error)
      throw new CommandError(
        `--file names ${file}, which cannot be read (${String(error.code)}). Correct the path or its permissions.`,
      );
    throw error;
  };
}
