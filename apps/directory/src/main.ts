/**
 * The directory process of split.
 *
 *     gateway, authorize, device, token, operator ══gRPC══> directory ──> Postgres `directory`
 *     TESSERA_APPLY_FILE ─> declared state ─┘ at the start and at SIGHUP
 */
import { combine, runService } from '@tessera/process';
import { local, rootCall } from '@tessera/rpc';
import { ulid } from '@tessera/kit';
import { allowedByConfig, applyAtStart, applyConfig, migrations } from '@tessera/directory';
import { bootstrapAtStart, buildDirectory, directoryProcessConfig } from '@tessera/people';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { BootstrapService } from '@tessera/proto-gen/directory';

await runService({
  name: 'directory',
  config: combine(directoryProcessConfig, applyConfig),
  environment: process.env,
  stores: { database: true, redis: false },
  migrations,
  build: (config, _peers, runtime) => buildDirectory(config, {}, runtime),
  async serving(built, config, { log, clock, random }, lifecycle) {
    const declaredState = local(DeclaredStateService, built, 'operator', log);
    const bootstrap = local(BootstrapService, built, 'operator', log);
    const call = () => rootCall(ulid(clock, random));
    await applyAtStart({
      file: config.TESSERA_APPLY_FILE,
      ...allowedByConfig(config),
      exposure: config,
      declaredState,
      environment: process.env,
      call,
      log,
      lifecycle,
    });
    await bootstrapAtStart({ file: config.TESSERA_BOOTSTRAP_ADMIN_FILE, bootstrap, call: call(), log });
  },
});
