import {
  authorizeConfig,
  createConsentCount,
  createConsentStore,
  createSelectCounting,
  createSessionCount,
  createSessionStore,
} from '@tessera/authorize';
import { buildDirectory, directoryProcessConfig } from '@tessera/people';
import type { Runtime } from '@tessera/process';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { TokenService, type CountEndedRequest } from '@tessera/proto-gen/token';
import { local, type BuiltService, type CallContext } from '@tessera/rpc';
import { countEnded, createFamilyCount, createPostgresStores, type Counters } from '@tessera/token';
import { settings, type Environment } from '../../settings.ts';

/**
 * Counts in the database what a change would end, as `authorize` and `token` do. Waiting approvals are not counted.
 * @throws ConfigError
 */
export function configureCounting(environment: Environment): (runtime: Runtime) => BuiltService {
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
