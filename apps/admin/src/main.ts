/**
 * The admin process of split. It holds nothing. Without it nobody administers by token, and tokens are issued as
 * before.
 *
 *     curl, browsers ══Connect══> admin ─┬══gRPC══> token, directory   whose token it is, and what counts now
 *                                        └══gRPC══> every service      the records, on behalf of the administrator
 */
import { adminConfig, buildAdmin, serveAdministration } from '@tessera/admin';
import { consoleConfig, consoleOf } from '@tessera/console';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { combine, ConfigError, connectPeers, processConfig, rpcConfig, runProcess } from '@tessera/process';

await runProcess({
  name: 'admin',
  config: combine(processConfig, rpcConfig, adminConfig, consoleConfig),
  environment: process.env,
  start: async ({ config, log, lifecycle }) => {
    const peers = await connectPeers(config, 'admin', log, lifecycle);
    const admin = await buildAdmin(
      config,
      {
        keys: (service) => peers('keys').client(service),
        directory: (service) => peers('directory').client(service),
        authorize: (service) => peers('authorize').client(service),
        device: (service) => peers('device').client(service),
        token: (service) => peers('token').client(service),
      },
      { log },
    );
    lifecycle.onClose(async () => admin.close());
    lifecycle.check('admin', async () => admin.ready());
    const drainMs = config.TESSERA_DRAIN_TIMEOUT * 1000;
    const pages = await consoleOf(config, {
      admin,
      directory: peers('directory').client(DirectoryService),
      log,
    });
    const server = await serveAdministration(admin, config, { pages, log, drainMs });
    if (server === undefined)
      throw new ConfigError(['TESSERA_ADMIN_PORT is required: this process serves nothing else.']);
    lifecycle.onDrain(async () => server.drain());
  },
});
