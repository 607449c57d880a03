/**
 * The directory process of split.
 *
 *     gateway, authorize, device, token, operator ══gRPC══> directory ──> Postgres `directory`
 *     TESSERA_APPLY_FILE ─> admin service ─┘ at the start and at SIGHUP
 *     curl ══Connect══> admin service ─────┘ at TESSERA_ADMIN_PORT
 */
import { combine, rpcCredentials, runService } from '@tessera/process';
import { local, rootCall } from '@tessera/rpc';
import { ulid } from '@tessera/kit';
import {
  administrationConfig,
  applyAtStart,
  applyConfig,
  buildDirectory,
  directoryConfig,
  migrations,
  serveAdministration,
} from '@tessera/directory';
import { DirectoryAdminService } from '@tessera/proto-gen/directory';

await runService({
  name: 'directory',
  config: combine(directoryConfig, applyConfig, administrationConfig),
  environment: process.env,
  stores: { database: true, redis: false },
  migrations,
  build: (config, _peers, runtime) => buildDirectory(config, {}, runtime),
  async serving(built, config, { log, clock, random }, lifecycle) {
    await applyAtStart({
      file: config.TESSERA_APPLY_FILE,
      allowDelete: config.TESSERA_APPLY_ALLOW_DELETE,
      exposure: config,
      admin: local(DirectoryAdminService, built, 'operator', log),
      environment: process.env,
      call: () => rootCall(ulid(clock, random)),
      log,
      lifecycle,
    });
    const credentials = () => rpcCredentials(config);
    const drainMs = config.TESSERA_DRAIN_TIMEOUT * 1000;
    const server = await serveAdministration(built.routes, config, { credentials, log, drainMs });
    if (server !== undefined) lifecycle.onDrain(async () => server.drain());
  },
});
