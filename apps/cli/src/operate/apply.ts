import { applyFile, DeclaredStateError } from '@tessera/directory';
import { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { CommandError, type Terminal } from '../terminal.ts';
import { withService } from './service.ts';

/** Hashing the passwords of a large file takes its time. */
const timeoutMs = 120_000;

/** Applies a declared state. Throws CommandError with every mistake of the file. */
export async function applyState(file: string, terminal: Terminal): Promise<void> {
  const { environment } = terminal;
  const { tenants } = await withService('directory', terminal, {
    name: 'Applying',
    instead: ' A process with embedded stores applies TESSERA_APPLY_FILE itself, at its start and at SIGHUP.',
    timeoutMs,
    run: async (clientOf, call) => {
      const admin = clientOf(DirectoryAdminService);
      return applyFile(file, { admin, environment, call }).catch(explain(file));
    },
  });
  for (const { tenantId, created, updated, deleted } of tenants) {
    terminal.say(`${tenantId}: ${created} created, ${updated} updated, ${deleted} deleted\n`);
  }
}

function explain(file: string): (error: unknown) => never {
  return (error) => {
    if (error instanceof DeclaredStateError) throw new CommandError(error.message);
    if (error instanceof Error && 'syscall' in error && 'code' in error)
      throw new CommandError(
        `--file names ${file}, which cannot be read (${String(error.code)}). Correct the path or its permissions.`,
      );
    throw error;
  };
}
