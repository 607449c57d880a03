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
  type CallOptions,
  type Client,
  type Kit,
} from '@tessera/kit';
import { buildDirectory, directoryConfig, migrations } from '@tessera/directory';
import { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { CommandError, type Terminal } from '../terminal.ts';
import { missingDatabase, orExplain, patiently, terminalLog, withDatabase } from './database.ts';
import { settings } from './settings.ts';

/** What an operator asks of the directory. May be asked more than once, while a store or service is away. */
export interface DirectoryWork<T> {
  /** What it is called in messages, as "Applying". */
  readonly name: string;
  /** What there is instead of a database, for who named none. */
  readonly instead: string;
  readonly timeoutMs: number;
  run(admin: Client<typeof DirectoryAdminService>, call: CallOptions): Promise<T>;
}

/**
 * Does work with the directory that `TESSERA_PEER_DIRECTORY` names, by calling it as `operator`, else with the database
 * that `DATABASE_URL` names, whose processes notice by themselves. Throws CommandError, also where the directory refuses.
 */
export async function withDirectory<T>(terminal: Terminal, work: DirectoryWork<T>): Promise<T> {
  const { TESSERA_PEER_DIRECTORY: target } = terminal.environment;
  return target ? byCall(target, terminal, work) : inDatabase(terminal, work);
}

async function byCall<T>(target: string, terminal: Terminal, work: DirectoryWork<T>): Promise<T> {
  const config = orExplain(() => settings(combine(processConfig, rpcConfig), terminal.environment));
  const log = terminalLog(terminal);
  const peer = await connectPeer({
    target: config.TESSERA_PEER_DIRECTORY ?? target,
    as: 'operator',
    credentials: orExplain(() => rpcCredentials(config)),
    peer: 'directory',
    log,
  });
  try {
    const admin = peer.client(DirectoryAdminService);
    return await patiently(async () => attempt(work, admin), work.name, log);
  } finally {
    await peer.close();
  }
}

async function inDatabase<T>(terminal: Terminal, work: DirectoryWork<T>): Promise<T> {
  if (!isGiven(terminal.environment, 'DATABASE_URL')) throw missingDatabase(work.instead);
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
      return await patiently(async () => attempt(work, admin), work.name, log);
    } finally {
      await built.close();
    }
  });
}

async function attempt<T>(work: DirectoryWork<T>, admin: Client<typeof DirectoryAdminService>): Promise<T> {
  try {
    return await work.run(admin, rootCall(ulid(systemClock, systemRandom), work.timeoutMs));
  } catch (error) {
    if (error instanceof Error && 'rawMessage' in error && typeof error.rawMessage === 'string')
      throw new CommandError(error.rawMessage);
    throw error;
  }
}
