import {
  combine,
  connectPeer,
  isGiven,
  local,
  migrate,
  processConfig,
  rootCall,
  rpcConfig,
  rpcCredentials,
  systemClock,
  systemRandom,
  ulid,
  type Client,
  type Kit,
} from '@tessera/kit';
import {
  applyFile,
  buildDirectory,
  DeclaredStateError,
  directoryConfig,
  migrations,
} from '@tessera/directory';
import { DirectoryAdminService, type ApplyResponse } from '@tessera/proto-gen/directory';
import { CommandError, type Terminal } from '../terminal.ts';
import { missingDatabase, orExplain, patiently, terminalLog, withDatabase } from './database.ts';
import { settings } from './settings.ts';

type Admin = Client<typeof DirectoryAdminService>;

/** Hashing the passwords of a large file takes its time. */
const timeoutMs = 120_000;

/**
 * Applies a declared state: by calling the directory that `TESSERA_PEER_DIRECTORY` names, else in the database that
 * `DATABASE_URL` names, whose processes notice by themselves. Throws CommandError with every mistake of the file.
 */
export async function applyState(file: string, terminal: Terminal): Promise<void> {
  const { TESSERA_PEER_DIRECTORY: directory } = terminal.environment;
  const { tenants } = await (directory ? byCall(file, terminal) : inDatabase(file, terminal));
  for (const { tenantId, created, updated, deleted } of tenants) {
    terminal.say(`${tenantId}: ${created} created, ${updated} updated, ${deleted} deleted\n`);
  }
}

async function byCall(file: string, terminal: Terminal): Promise<ApplyResponse> {
  const config = orExplain(() => settings(combine(processConfig, rpcConfig), terminal.environment));
  const log = terminalLog(terminal);
  const peer = await connectPeer({
    target: config.TESSERA_PEER_DIRECTORY ?? '',
    as: 'operator',
    credentials: orExplain(() => rpcCredentials(config)),
    peer: 'directory',
    log,
  });
  try {
    return await patiently(
      async () => apply(file, peer.client(DirectoryAdminService), terminal),
      'Applying',
      log,
    );
  } finally {
    await peer.close();
  }
}

async function inDatabase(file: string, terminal: Terminal): Promise<ApplyResponse> {
  if (!isGiven(terminal.environment, 'DATABASE_URL'))
    throw missingDatabase(
      ' A process with embedded stores applies TESSERA_APPLY_FILE itself, at its start and at SIGHUP.',
    );
  const config = orExplain(() => settings(combine(processConfig, directoryConfig), terminal.environment));
  return withDatabase(terminal, async (database, log) => {
    await patiently(async () => migrate(database, migrations, log, 'wait'), 'Waiting for the schema', log);
    const kit: Kit = {
      log,
      clock: systemClock,
      random: systemRandom,
      database,
      redis: undefined,
      failpoint: () => undefined,
    };
    const built = buildDirectory(config, {}, kit);
    try {
      const admin = local(DirectoryAdminService, built, 'operator', log);
      return await patiently(async () => apply(file, admin, terminal), 'Applying', log);
    } finally {
      await built.close();
    }
  });
}

async function apply(file: string, admin: Admin, { environment }: Terminal): Promise<ApplyResponse> {
  try {
    const call = rootCall(ulid(systemClock, systemRandom), timeoutMs);
    return await applyFile(file, { admin, environment, call });
  } catch (error) {
    if (error instanceof DeclaredStateError) throw new CommandError(error.message);
    if (!(error instanceof Error)) throw error;
    if ('rawMessage' in error && typeof error.rawMessage === 'string')
      throw new CommandError(error.rawMessage);
    if ('syscall' in error && 'code' in error)
      throw new CommandError(
        `--file names ${file}, which cannot be read (${String(error.code)}). Correct the path or its permissions.`,
      );
    throw error;
  }
}
