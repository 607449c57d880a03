import { optionalPort } from '@tessera/process';
import { serve, type BuiltService, type RpcServer, type RpcServerCredentials } from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import { Authorization } from '@tessera/proto-gen/envoy';
import { IntrospectionService } from '@tessera/proto-gen/token';
import { z } from 'zod';

/** The listener on which resource servers introspect tokens, apart from the one for internal calls. */
export const introspectionListenerConfig = z.object({
  TESSERA_INTROSPECTION_HOST: z.string().prefault('127.0.0.1'),
  /** Absent: there is no such listener. */
  TESSERA_INTROSPECTION_PORT: optionalPort(),
});

const served: readonly string[] = [IntrospectionService.typeName, Authorization.typeName];

export type IntrospectionListenerConfig = z.infer<typeof introspectionListenerConfig>;

/**
 * Serves only introspection, and the same decision for Envoy. With mutual TLS it also accepts connections without a
 * certificate, whose calls must carry an access token. Undefined if no port is configured.
 */
export async function serveIntrospection(
  built: BuiltService,
  config: IntrospectionListenerConfig,
  options: {
    readonly credentials: () => RpcServerCredentials;
    readonly log: Logger;
    readonly drainMs: number;
  },
): Promise<RpcServer | undefined> {
  const { TESSERA_INTROSPECTION_HOST: host, TESSERA_INTROSPECTION_PORT: port } = config;
  if (port === undefined) return undefined;
  const routes = built.routes.filter(({ service }) => served.includes(service.typeName));
  const { log, drainMs } = options;
  const credentials = options.credentials();
  const server = await serve(
    { ...built, routes },
    { host, port, credentials, certificates: 'optional', log, drainMs },
  );
  log.info({ host: server.host, port: server.port }, 'serving introspection');
  return server;
}
