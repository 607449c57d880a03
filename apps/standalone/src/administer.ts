import { announceAdministration, serveAdministration, type AdminConfig } from '@tessera/admin';
import { consoleOf, type ConsoleConfig } from '@tessera/console';
import { opaqueValue, Secret, systemRandom } from '@tessera/kit';
import { consolePaths } from '@tessera/oauth';
import type { Lifecycle, ProcessConfig, RpcConfig, Runtime } from '@tessera/process';
import { DirectoryService } from '@tessera/proto-gen/directory';
import {
  createProver,
  local,
  type BuiltService,
  type ConnectServer,
  type RpcCredentials,
} from '@tessera/rpc';

type Config = AdminConfig & RpcConfig & ProcessConfig & ConsoleConfig;

interface Surroundings extends Pick<Runtime, 'log'> {
  readonly issuer: string;
  readonly directory: BuiltService;
  readonly lifecycle: Pick<Lifecycle, 'onDrain' | 'onClose'>;
}

/**
 * Serves the administration API, and the console beside it. With embedded stores it does so without a setting, at a
 * free port of the loopback address, because no other process can open them: `tessera` finds port and token in the
 * data directory.
 * @param besides services whose methods for `operator` are served too
 * @returns the address of the console; undefined if there is none
 */
export async function administer(
  admin: () => Promise<BuiltService>,
  besides: readonly BuiltService[],
  config: Config,
  { issuer, directory: records, lifecycle, log }: Surroundings,
): Promise<string | undefined> {
  const serve = async (
    settings: Config,
    credentials?: RpcCredentials,
  ): Promise<ConnectServer | undefined> => {
    if (settings.TESSERA_ADMIN_PORT === undefined) return undefined;
    const built = await admin();
    const directory = local(DirectoryService, records, 'admin', log);
    const pages = await consoleOf(config, { admin: built, directory, log }, issuer);
    const drainMs = config.TESSERA_DRAIN_TIMEOUT * 1000;
    const given = { besides, pages, log, drainMs, ...(credentials && { credentials }) };
    const server = await serveAdministration(built, settings, given);
    if (server !== undefined) lifecycle.onDrain(() => server.drain());
    return server;
  };
  if (config.DATABASE_URL !== undefined || config.TESSERA_RPC_AUTH === 'mtls')
    return consoleAt(config, await serve(config));
  const { TESSERA_DATA_DIR: directory, TESSERA_RPC_TOKEN: shared } = config;
  // A new one at each start: what an earlier process left in its file, if it was killed, is worth nothing.
  const token = shared ?? new Secret(opaqueValue('', systemRandom));
  const prover = createProver(token, systemRandom);
  const server = await serve(
    { ...config, TESSERA_ADMIN_PORT: config.TESSERA_ADMIN_PORT ?? 0 },
    { kind: 'token', token, prover, ...(shared === undefined && { of: 'operator' }) },
  );
  if (server === undefined) return undefined;
  const here = { '0.0.0.0': '127.0.0.1', '::': '::1' }[server.host] ?? server.host;
  const host = here.includes(':') ? `[${here}]` : here;
  const target = `${host}:${server.port}`;
  lifecycle.onClose(await announceAdministration(directory, { target, token, issuer }));
  return consoleAt(config, server);
}

/** One of this machine without a port is at that of the listener. */
function consoleAt(
  { TESSERA_CONSOLE_URL: url }: Config,
  server: ConnectServer | undefined,
): string | undefined {
  if (url === undefined || server === undefined) return undefined;
  const { protocol, port } = new URL(url);
  const origin = protocol === 'http:' && port === '' ? `${url}:${server.port}` : url;
  return origin + consolePaths.base;
}
