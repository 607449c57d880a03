import type { z } from 'zod';
import { buildAdmin } from '@tessera/admin';
import { buildAuthorize, migrations as authorizeMigrations } from '@tessera/authorize';
import { buildDevice, migrations as deviceMigrations } from '@tessera/device';
import { migrations as directoryMigrations } from '@tessera/directory';
import { buildDirectory, type DirectoryOptions } from '@tessera/people';
import { buildGateway, type GatewayOptions, type GatewayService } from '@tessera/gateway';
import { buildKeys, migrations as keysMigrations } from '@tessera/keys';
import { local, type BuiltService } from '@tessera/rpc';
import type { Runtime } from '@tessera/process';
import type { Client } from '@tessera/rpc';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { AccountService } from '@tessera/proto-gen/account';
import { AuthorizeService } from '@tessera/proto-gen/authorize';
import { BackchannelAuthenticationService, DeviceAuthorizationService } from '@tessera/proto-gen/device';
import { BootstrapService, DirectoryService } from '@tessera/proto-gen/directory';
import { KeysService } from '@tessera/proto-gen/keys';
import { PersonService } from '@tessera/proto-gen/person';
import { IntrospectionService, TokenService } from '@tessera/proto-gen/token';
import { buildToken, migrations as tokenMigrations } from '@tessera/token';
import type { standaloneConfig } from './config.ts';

export interface Composition {
  /** In calling order: each calls only those before it. The gateway comes last. */
  readonly services: readonly BuiltService[];
  readonly gateway: GatewayService;
  readonly token: BuiltService;
  readonly directory: BuiltService;
  readonly keys: BuiltService;
  /** The API of administrators, loaded when it is first asked for. */
  readonly admin: () => Promise<BuiltService>;
  /** For who runs the process, as `operator`. */
  readonly bootstrap: Client<typeof BootstrapService>;
  readonly declaredState: Client<typeof DeclaredStateService>;
}

/** The schemas of every service, in the order of their migrations. */
export const allMigrations = [
  keysMigrations,
  directoryMigrations,
  authorizeMigrations,
  deviceMigrations,
  tokenMigrations,
];

/** Every service in one process, bound by direct calls. */
export function compose(
  config: z.infer<typeof standaloneConfig>,
  runtimeFor: (service: string) => Runtime,
  options: GatewayOptions & DirectoryOptions,
): Composition {
  const { log } = runtimeFor('standalone');
  const keys = buildKeys(config, {}, runtimeFor('keys'));
  const directory = buildDirectory(config, {}, runtimeFor('directory'), options);
  const authorize = buildAuthorize(
    config,
    {
      directory: local(DirectoryService, directory, 'authorize', log),
      person: local(PersonService, directory, 'authorize', log),
    },
    runtimeFor('authorize'),
  );
  const device = buildDevice(
    config,
    { directory: local(DirectoryService, directory, 'device', log) },
    runtimeFor('device'),
  );
  const token = buildToken(
    config,
    {
      keys: local(KeysService, keys, 'token', log),
      directory: local(DirectoryService, directory, 'token', log),
      authorize: local(AuthorizeService, authorize, 'token', log),
      device: {
        device: local(DeviceAuthorizationService, device, 'token', log),
        backchannel: local(BackchannelAuthenticationService, device, 'token', log),
      },
    },
    runtimeFor('token'),
  );
  const gateway = buildGateway(
    config,
    {
      keys: local(KeysService, keys, 'gateway', log),
      directory: local(DirectoryService, directory, 'gateway', log),
      authorize: local(AuthorizeService, authorize, 'gateway', log),
      account: local(AccountService, authorize, 'gateway', log),
      token: local(TokenService, token, 'gateway', log),
      introspection: local(IntrospectionService, token, 'gateway', log),
      device: local(DeviceAuthorizationService, device, 'gateway', log),
      backchannel: local(BackchannelAuthenticationService, device, 'gateway', log),
    },
    runtimeFor('gateway'),
    options,
  );
  const admin = () =>
    buildAdmin(
      config,
      {
        directory: (service) => local(service, directory, 'admin', log),
        keys: (service) => local(service, keys, 'admin', log),
        authorize: (service) => local(service, authorize, 'admin', log),
        device: (service) => local(service, device, 'admin', log),
        token: (service) => local(service, token, 'admin', log),
      },
      { log },
    );
  return {
    services: [keys, directory, authorize, device, token, gateway],
    gateway,
    token,
    directory,
    keys,
    admin,
    bootstrap: local(BootstrapService, directory, 'operator', log),
    declaredState: local(DeclaredStateService, directory, 'operator', log),
  };
}
