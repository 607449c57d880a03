import { ConfigError, optionalPort } from '@tessera/process';
import {
  declaredAccess,
  serveConnect,
  type CallerName,
  type ConnectServer,
  type Route,
  type RpcCredentials,
} from '@tessera/rpc';
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
 * Serves the methods that `operator` may call, over Connect, gRPC and gRPC-web. Undefined if no port is configured.
 * @throws ConfigError if there are no credentials
 */
export async function serveAdministration(
  routes: readonly Route[],
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
  const served = routes.map((route) => routeFor('operator', route));
  const server = await serveConnect({ routes: served }, { host, port, credentials, log, drainMs });
  log.info({ host: server.host, port: server.port }, 'serving administration');
  return server;
}

/** The route without the methods that are declared for others alone. */
function routeFor(caller: CallerName, route: Route): Route {
  const methods = route.service.methods.filter((method) => declaredAccess(method).callers.includes(caller));
  return { ...route, service: { ...route.service, methods } };
}
