import {
  Code,
  ConnectError,
  local,
  operatorRemedy,
  rootCall,
  whereOffered,
  type BuiltService,
  type RemoteService,
} from '@tessera/rpc';
import { findAdministration } from '@tessera/admin';
import {
  combine,
  isGiven,
  isPeerGiven,
  peerTarget,
  processConfig,
  rpcConfig,
  rpcCredentials,
  type Runtime,
} from '@tessera/process';
import { migrate, type Migrations } from '@tessera/stores';
import { systemClock, systemRandom, ulid } from '@tessera/kit';
import type { CallOptions } from '@tessera/rpc';
import { type Logger } from '@tessera/telemetry';
import { migrations as authorizeMigrations } from '@tessera/authorize';
import { migrations as directoryMigrations } from '@tessera/directory';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import { buildKeys, keysConfig, migrations as keysMigrations } from '@tessera/keys';
import { migrations as tokenMigrations } from '@tessera/token';
import { chosenContext, namedContext } from '../../contexts/chosen-context.ts';
import { readContexts } from '../../contexts/context-file.ts';
import { proveAdministration } from '../../at-hand/prove-administration.ts';
import { withContext } from '../../contexts/with-context.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import { orExplain, patiently, reasonOf, terminalLog, withDatabase } from '../schemas/with-database.ts';
import { settings, type Environment } from '../../settings.ts';
import { configureCounting } from './count-in-database.ts';

/** Makes a client of what the service offers. */
export type ClientOf = RemoteService['client'];

/** A request of an operator to a service. It may be repeated if a store or service is unavailable. */
export interface ServiceWork<T> {
  /** Its name in messages, such as "Applying". */
  readonly name: string;
  readonly timeoutMs: number;
  run(clientOf: ClientOf, call: CallOptions): Promise<T>;
}

/** The code of a service that operators work with, in case there are no processes to call. */
interface OperatedService {
  /** Of the schemas that it reads. */
  readonly migrations: readonly Migrations[];
  /** Reads its settings; throws ConfigError. The returned function builds it. */
  configured(environment: Environment): (runtime: Runtime) => BuiltService;
  /** Whether it must be ready before the first request. */
  readonly readyFirst: boolean;
}

const services = {
  directory: {
    migrations: [directoryMigrations],
    configured(environment) {
      const config = settings(directoryProcessConfig, environment);
      return (runtime) => buildDirectory(config, {}, runtime);
    },
    readyFirst: false,
  },
  keys: {
    migrations: [keysMigrations],
    configured(environment) {
      const config = settings(keysConfig, environment);
      return (runtime) => buildKeys(config, {}, runtime, { followsSchedule: false });
    },
    // With a different key-encryption key, it would create a key that the processes cannot read.
    readyFirst: true,
  },
  token: {
    migrations: [directoryMigrations, authorizeMigrations, tokenMigrations],
    configured: configureCounting,
    readyFirst: false,
  },
} as const satisfies Record<string, OperatedService>;

type ServiceName = keyof typeof services;

/**
 * Works with a service. With a context: by the administration API, as who is logged in. Without: calls its processes as
 * `operator` if `TESSERA_PEERS` names them; otherwise builds it on the database of `DATABASE_URL`, whose processes
 * notice the changes; otherwise takes the current context; otherwise calls the process with embedded stores whose data
 * directory is `TESSERA_DATA_DIR`. Throws CommandError, also if the service refuses.
 */
export async function withService<T>(
  name: ServiceName,
  terminal: Terminal,
  work: ServiceWork<T>,
): Promise<T> {
  const { environment } = terminal;
  const { direct = false } = terminal.reach?.() ?? {};
  const hasDatabase = isGiven(environment, 'DATABASE_URL');
  const named = namedContext(terminal);
  if (direct && named !== undefined)
    throw new CommandError('--direct works on a database, and --context on an API. Choose one.', 2);
  if (direct && !hasDatabase) throw new CommandError('--direct needs DATABASE_URL.', 2);
  if (named === undefined && !direct && isPeerGiven(environment, name)) return byCall(name, terminal, work);
  if (named === undefined && hasDatabase) {
    if (!direct) await sayWhyNot(terminal);
    return inDatabase(services[name], terminal, work);
  }
  return overApi(terminal, work, ', TESSERA_PEERS or DATABASE_URL');
}

/** Works with what the administration API alone serves, as it asks several services. Throws as `withService`. */
export async function withAdministration<T>(terminal: Terminal, work: ServiceWork<T>): Promise<T> {
  return overApi(terminal, work, '');
}

/** By the context, or beside the process whose data directory is at hand. */
async function overApi<T>(terminal: Terminal, work: ServiceWork<T>, orElse: string): Promise<T> {
  const context = await chosenContext(terminal);
  if (context === undefined) return besideEmbeddedStores(terminal, work, orElse);
  const { clientOf, run } = await withContext(context, terminal, work.run);
  return attempt({ ...work, run }, clientOf);
}

/** Who is logged in somewhere may not expect that the environment decides. */
async function sayWhyNot(terminal: Terminal): Promise<void> {
  const { current } = await readContexts(terminal).catch((): { current?: string } => ({}));
  if (current !== undefined)
    terminal.say(
      `This works on the database of DATABASE_URL, not on the context ${current}. Say so with --direct or --context.\n`,
    );
}

async function byCall<T>(name: ServiceName, terminal: Terminal, work: ServiceWork<T>): Promise<T> {
  const config = orExplain(() => settings(combine(processConfig, rpcConfig), terminal.environment));
  const log = terminalLog(terminal);
  const { openRemoteService } = await import('@tessera/rpc/remote');
  const remote = openRemoteService({
    target: peerTarget(config, name) ?? '',
    as: 'operator',
    credentials: orExplain(() => rpcCredentials(config)),
    peer: name,
    log,
  });
  try {
    return await patiently(async () => attempt(work, remote.client), work.name, log);
  } finally {
    await remote.close();
  }
}

async function besideEmbeddedStores<T>(terminal: Terminal, work: ServiceWork<T>, orElse: string): Promise<T> {
  const { TESSERA_DATA_DIR: directory } = orExplain(() => settings(processConfig, terminal.environment));
  const found = await findAdministration(directory).catch((error: unknown) => {
    throw new CommandError(error instanceof Error ? error.message : `${directory} cannot be read.`);
  });
  const remedy = `Start Tessera there (npm start), log in elsewhere (tessera login), or set TESSERA_DATA_DIR${orElse}.`;
  if (found === undefined)
    throw new CommandError(`No process serves the data directory ${directory}. ${remedy}`);
  const { target } = found;
  const token = await proveAdministration(found, terminal).catch((error: unknown) => {
    throw new CommandError(
      `The process of the data directory ${directory} does not answer: ${error instanceof Error ? error.message : 'unknown'} ${remedy}`,
    );
  });
  const { connectClients } = await import('../../contexts/connect-clients.ts');
  const reached = async (clientOf: ClientOf, call: CallOptions): Promise<T> => {
    try {
      return await work.run(clientOf, call);
    } catch (error) {
      const isSilent = error instanceof ConnectError && error.code === Code.Unavailable;
      if (!isSilent || operatorRemedy(error) !== undefined) throw error;
      throw new CommandError(
        `The process of the data directory ${directory} does not answer: ${error.rawMessage}. ${remedy}`,
      );
    }
  };
  return attempt(
    { ...work, run: reached },
    connectClients({ url: `http://${target}`, token, asOperator: true }),
  );
}

async function inDatabase<T>(
  { migrations, configured, readyFirst }: OperatedService,
  terminal: Terminal,
  work: ServiceWork<T>,
): Promise<T> {
  const build = orExplain(() => configured(terminal.environment));
  return withDatabase(terminal, async (database, log) => {
    for (const each of migrations)
      await patiently(async () => migrate(database, each, log, 'wait'), 'Waiting for the schema', log);
    const runtime: Runtime = {
      log,
      clock: systemClock,
      random: systemRandom,
      database,
      redis: undefined,
      failpoint: () => undefined,
      requireClock: () => undefined,
    };
    const built = build(runtime);
    try {
      if (readyFirst) await requireReady(built, work.name, log);
      const clientOf: ClientOf = (service) => local(service, built, 'operator', log);
      return await patiently(async () => attempt(work, clientOf), work.name, log);
    } finally {
      await built.close();
    }
  });
}

async function requireReady(built: BuiltService, what: string, log: Logger): Promise<void> {
  try {
    await patiently(async () => built.ready(), what, log);
  } catch (error) {
    if (error instanceof CommandError || error instanceof TypeError) throw error;
    throw new CommandError(`${what} cannot be done. ${reasonOf(error)}`);
  }
}

async function attempt<T>(work: ServiceWork<T>, clientOf: ClientOf): Promise<T> {
  try {
    const call = rootCall(ulid(systemClock, systemRandom), work.timeoutMs);
    return await whereOffered(work.run(clientOf, call), () => tooOld(work));
  } catch (error) {
    const remedy = operatorRemedy(error);
    if (remedy !== undefined) throw new CommandError(`${work.name} cannot be done. ${remedy}.`);
    if (!(error instanceof ConnectError)) throw error;
    throw new CommandError(error.rawMessage);
  }
}

function tooOld({ name }: Pick<ServiceWork<unknown>, 'name'>): never {
  throw new CommandError(
    `${name} cannot be done: the process that was asked is of a version that does not know how. Upgrade it first.`,
  );
}

/** Replaces a NOT_FOUND by the command's own message. */
export function orNotFound(sentence: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof ConnectError && error.code === Code.NotFound ? new CommandError(sentence) : error;
  };
}
