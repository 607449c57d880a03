/** The services of a process built inside the command, for `--direct` alone: nothing else here builds one. */
import {
  authorizeConfig,
  createConsentCount,
  createConsentStore,
  createSelectCounting,
  createSessionCount,
  createSessionStore,
  migrations as authorizeMigrations,
} from '@tessera/authorize';
import { migrations as directoryMigrations } from '@tessera/directory';
import { buildKeys, keysConfig, migrations as keysMigrations } from '@tessera/keys';
import { systemClock, systemRandom } from '@tessera/kit';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import type { Runtime } from '@tessera/process';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { TokenService, type CountEndedRequest } from '@tessera/proto-gen/token';
import { local, type BuiltService, type CallContext } from '@tessera/rpc';
import { migrate, type Migrations } from '@tessera/stores';
import type { Logger } from '@tessera/telemetry';
import {
  countEnded,
  createFamilyCount,
  createPostgresStores,
  migrations as tokenMigrations,
  type Counters,
} from '@tessera/token';
import { orExplain, settings, type Environment } from '../../settings.ts';
import { CommandError, type Terminal } from '../../terminal.ts';
import { patiently, reasonOf, withDatabase } from '../schemas/with-database.ts';
import { attempt, type ClientOf, type ServiceWork } from './service-work.ts';

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

export type ServiceName = keyof typeof services;

/** Builds a service on the database of `DATABASE_URL` and works with it there. Throws CommandError. */
export async function inDatabase<T>(name: ServiceName, terminal: Terminal, work: ServiceWork<T>): Promise<T> {
  const { migrations, configured, readyFirst }: OperatedService = services[name];
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

/**
 * Counts in the database what a change would end, as `authorize` and `token` do. Waiting approvals are not counted.
 * @throws ConfigError
 */
function configureCounting(environment: Environment): (runtime: Runtime) => BuiltService {
  const config = settings(directoryProcessConfig, environment);
  const { TESSERA_SESSION_IDLE_TTL: idleSeconds } = settings(
    authorizeConfig.pick({ TESSERA_SESSION_IDLE_TTL: true }),
    environment,
  );
  return (runtime) => {
    const { database, log } = runtime;
    const built = buildDirectory(config, {}, runtime);
    const directory = local(DirectoryService, built, 'authorize', log);
    const sessions = createSessionCount({ sessions: createSessionStore(database), directory, idleSeconds });
    const consents = createConsentCount({
      consents: createConsentStore(database),
      selectCounting: createSelectCounting(directory),
    });
    const families = createFamilyCount({
      families: createPostgresStores(database, runtime).refresh,
      directory: local(DirectoryService, built, 'token', log),
      issuer: config.TESSERA_ISSUER,
    });
    const counters: Counters = {
      sessions: async (ends, call) => sessions(ends, () => call),
      consents: async (ends, call) => consents(ends, () => call),
      families,
    };
    const methods = TokenService.methods.filter(({ localName }) => localName === 'countEnded');
    const handlers = {
      countEnded: async ({ ends }: CountEndedRequest, context: CallContext) =>
        ends === undefined ? {} : countEnded(counters, ends, () => context.onward()),
    };
    return { ...built, name: 'token', routes: [{ service: { ...TokenService, methods }, handlers }] };
  };
}
