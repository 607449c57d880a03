/**
 * The device process of split.
 *
 *     gateway, token ══gRPC══> device ─┬─> directory
 *                                      ├─> Postgres `device`, Redis `device:*`
 *                                      └─> HTTPS: webhooks of tenants, clients that are pinged
 */
import { buildDevice, deviceConfig, migrations } from '@tessera/device';
import { runService } from '@tessera/process';
import { DirectoryService } from '@tessera/proto-gen/directory';

await runService({
  name: 'device',
  config: deviceConfig,
  environment: process.env,
  stores: { database: true, redis: true },
  migrations,
  build: (config, peers, runtime) =>
    buildDevice(config, { directory: peers('directory').client(DirectoryService) }, runtime),
});
