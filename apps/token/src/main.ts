/**
 * The token process of split.
 *
 *     gateway ══gRPC══> token ─┬─> authorize, device, directory, keys
 *     introspectors ═══════┘   ├─> Postgres `token`, Redis: rate limits
 *                              └─> HTTPS: back-channel logout
 */
import { combine, rpcCredentials, runService } from '@tessera/process';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import {
  buildToken,
  introspectionListenerConfig,
  migrations,
  serveIntrospection,
  tokenConfig,
} from '@tessera/token';

await runService({
  name: 'token',
  config: combine(tokenConfig, introspectionListenerConfig),
  environment: process.env,
  stores: { database: true, redis: true },
  migrations,
  build: (config, peers, runtime) =>
    buildToken(
      config,
      {
        keys: peers('keys').client(KeysService),
        directory: peers('directory').client(DirectoryService),
        authorize: peers('authorize').client(AuthorizeService),
        device: {
          device: peers('device').client(DeviceAuthorizationService),
          backchannel: peers('device').client(BackchannelAuthenticationService),
        },
      },
      runtime,
    ),
  async serving(built, config, { log }, lifecycle) {
    const credentials = () => rpcCredentials(config);
    const drainMs = config.TESSERA_DRAIN_TIMEOUT * 1000;
    const server = await serveIntrospection(built, config, { credentials, log, drainMs });
    if (server !== undefined) lifecycle.onDrain(async () => server.drain());
  },
});
