import { ConfigError, optionalPort } from '@tessera/process';
import { DirectoryAdminService } from '@tessera/proto-gen/directory';
import { serveConnect, type BuiltService, type ConnectServer, type RpcCredentials } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import { z } from 'zod';

/** The listener for administrators and their scripts, apart from the one for internal calls. */
export const administrationConfig = z.object({
  TESSERA_ADMIN_HOST: z.string().prefault('127.0.0.1'),
  /** Absent: there is no such listener. */
  TESSERA_ADMIN_PORT: optionalPort(),
});

export type AdministrationConfig = z.infer<typeof administrationConfig>;

/**
 * Serves `DirectoryAdminService` over Connect, gRPC and gRPC-web to callers with the credentials of internal calls. Undefined if no port
 * is configured.
 * @throws ConfigError if internal calls have no credentials
 */
export async function serveAdministration(
  { routes }: Pick<BuiltService, 'routes'>,
  config: AdministrationConfig,
  options: { readonly credentials: () => RpcCredentials; readonly log: Logger; readonly drainMs: number },
): Promise<ConnectServer | undefined> {
  const { TESSERA_ADMIN_HOST: host, TESSERA_ADMIN_PORT: port } = config;
  if (port === undefined) return undefined;
  const { log, drainMs } = options;
  const credentials = options.credentials();
  if (credentials.kind === 'none') {
    throw new ConfigError([
      'TESSERA_ADMIN_PORT needs TESSERA_RPC_AUTH=token or mtls: without credentials, pages in a browser could call.',
    ]);
  }
  const served = routes.filter(({ service }) => service.typeName === DirectoryAdminService.typeName);
  const server = await serveConnect({ routes: served }, { host, port, credentials, log, drainMs });
  log.info({ host: server.host, port: server.port }, 'serving administration');
  return server;
}
