/**
 * The gateway process of split.
 *
 *     HTTP ─> gateway ─┬══gRPC══> token, authorize, device, keys, directory
 *                      └─> Redis: rate limits
 */
import { buildGateway, gatewayConfig, insecureSettings } from '@tessera/gateway';
import { combine, connectPeers, createRuntime, processConfig, rpcConfig, runProcess } from '@tessera/process';
import { AccountService } from '@tessera/proto-gen/account';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import { DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { IntrospectionService, TokenService } from '@tessera/proto-gen/token';

await runProcess({
  name: 'gateway',
  config: combine(processConfig, rpcConfig, gatewayConfig),
  environment: process.env,
  start: async ({ config, log, lifecycle }) => {
    const needs = { database: false, redis: true };
    const runtime = await createRuntime({ name: 'gateway', config, log, lifecycle, needs });
    const peers = await connectPeers(config, 'gateway', log, lifecycle);
    const gateway = buildGateway(
      config,
      {
        keys: peers('keys').client(KeysService),
        directory: peers('directory').client(DirectoryService),
        authorize: peers('authorize').client(AuthorizeService),
        account: peers('authorize').client(AccountService),
        token: peers('token').client(TokenService),
        introspection: peers('token').client(IntrospectionService),
        device: peers('device').client(DeviceAuthorizationService),
        backchannel: peers('device').client(BackchannelAuthenticationService),
      },
      runtime,
      { draining: lifecycle.signal },
    );
    lifecycle.onDrain(async () => gateway.close());
    lifecycle.check('gateway', async () => gateway.ready());
    for (const setting of insecureSettings(config)) log.warn({ event: 'open_door' }, setting);
    const url = await gateway.listen({ host: config.TESSERA_HTTP_HOST, port: config.TESSERA_HTTP_PORT });
    log.info({ url }, 'serving HTTP');
  },
});
