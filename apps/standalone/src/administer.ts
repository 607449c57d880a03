import { announceAdministration, serveAdministration, type AdminConfig } from '@tessera/admin';
import { opaqueValue, Secret, systemRandom } from '@tessera/kit';
import type { Lifecycle, ProcessConfig, RpcConfig, Runtime } from '@tessera/process';
import { createProver, type BuiltService, type RpcCredentials } from '@tessera/rpc';

type Config = AdminConfig & RpcConfig & ProcessConfig;

interface Surroundings extends Pick<Runtime, 'log'> {
  readonly issuer: string;
  readonly lifecycle: Pick<Lifecycle, 'onDrain' | 'onClose'>;
}

/**
 * Serves the administration API. With embedded stores it does so without a setting, at a free port of the loopback
 * address, because no other process can open them: `tessera` finds port and token in the data directory.
 * @param besides services whose methods for `operator` are served too
 */
export async function administer(
  admin: () => Promise<BuiltService>,
  besides: readonly BuiltService[],
  config: Config,
  { issuer, lifecycle, log }: Surroundings,
): Promise<void> {
  const options = { besides, log, drainMs: config.TESSERA_DRAIN_TIMEOUT * 1000 };
  if (config.DATABASE_URL !== undefined || config.TESSERA_RPC_AUTH === 'mtls') {
    if (config.TESSERA_ADMIN_PORT === undefined) return;
    const server = await serveAdministration(await admin(), config, options);
    if (server !== undefined) lifecycle.onDrain(() => server.drain());
    return;
  }
  const { TESSERA_DATA_DIR: directory, TESSERA_RPC_TOKEN: shared } = config;
  // A new one at each start: what an earlier process left in its file, if it was killed, is worth nothing.
  const token = shared ?? new Secret(opaqueValue('', systemRandom));
  const prover = createProver(token, systemRandom);
  const credentials: RpcCredentials = {
    kind: 'token',
    token,
    prover,
    ...(shared === undefined && { of: 'operator' }),
  };
  const settings = { ...config, TESSERA_ADMIN_PORT: config.TESSERA_ADMIN_PORT ?? 0 };
  const server = await serveAdministration(await admin(), settings, { ...options, credentials });
  if (server === undefined) return;
  lifecycle.onDrain(() => server.drain());
  const here = { '0.0.0.0': '127.0.0.1', '::': '::1' }[server.host] ?? server.host;
  const host = here.includes(':') ? `[${here}]` : here;
  const target = `${host}:${server.port}`;
  lifecycle.onClose(await announceAdministration(directory, { target, token, issuer }));
}
