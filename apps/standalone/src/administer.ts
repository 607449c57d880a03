import { announceAdministration, serveAdministration, type AdministrationConfig } from '@tessera/directory';
import {
  rpcCredentials,
  type Lifecycle,
  type ProcessConfig,
  type RpcConfig,
  type Runtime,
} from '@tessera/process';
import type { BuiltService, RpcCredentials } from '@tessera/rpc';
import { developmentSecret } from './development-secret.ts';

type Config = AdministrationConfig & RpcConfig & ProcessConfig;

interface Surroundings extends Pick<Runtime, 'log'> {
  readonly lifecycle: Pick<Lifecycle, 'onDrain' | 'onClose'>;
}

/**
 * Serves administration. With embedded stores it does so without a setting, at a free port of the loopback address, because no
 * other process can open them: `tessera` finds port and token in the data directory.
 */
export async function administer(
  services: readonly BuiltService[],
  config: Config,
  { lifecycle, log }: Surroundings,
): Promise<void> {
  const routes = services.flatMap((service) => service.routes);
  const drainMs = config.TESSERA_DRAIN_TIMEOUT * 1000;
  if (config.DATABASE_URL !== undefined || config.TESSERA_RPC_AUTH === 'mtls') {
    const credentials = () => rpcCredentials(config);
    const server = await serveAdministration(routes, config, { credentials, log, drainMs });
    if (server !== undefined) lifecycle.onDrain(() => server.drain());
    return;
  }
  const { TESSERA_DATA_DIR: directory, TESSERA_RPC_TOKEN: shared } = config;
  const token = shared ?? (await developmentSecret(directory, 'operator'));
  const credentials: RpcCredentials =
    shared === undefined ? { kind: 'token', token, of: 'operator' } : { kind: 'token', token };
  const settings = { ...config, TESSERA_ADMIN_PORT: config.TESSERA_ADMIN_PORT ?? 0 };
  const options = { credentials: () => credentials, log, drainMs };
  const server = await serveAdministration(routes, settings, options);
  if (server === undefined) return;
  lifecycle.onDrain(() => server.drain());
  const host = server.host.includes(':') ? `[${server.host}]` : server.host;
  lifecycle.onClose(await announceAdministration(directory, { target: `${host}:${server.port}`, token }));
}
