import { combine, runService } from '@tessera/process';
import { local, rootCall } from '@tessera/rpc';
import { ulid } from '@tessera/kit';
import { applyAtStart, applyConfig, buildDirectory, directoryConfig, migrations } from '@tessera/directory';
import { DirectoryAdminService } from '@tessera/proto-gen/directory';

await runService({
  name: 'directory',
  config: combine(directoryConfig, applyConfig),
  environment: process.env,
  stores: { database: true, redis: false },
  migrations,
  build: (config, _peers, kit) => buildDirectory(config, {}, kit),
  serving: async (built, config, kit, lifecycle) =>
    applyAtStart({
      file: config.TESSERA_APPLY_FILE,
      admin: local(DirectoryAdminService, built, 'operator', kit.log),
      environment: process.env,
      call: () => rootCall(ulid(kit.clock, kit.random)),
      log: kit.log,
      lifecycle,
    }),
});
