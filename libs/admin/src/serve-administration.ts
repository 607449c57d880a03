import { rpcCredentials, type RpcConfig } from '@tessera/process';
import {
  declaredAccess,
  serveConnect,
  type BuiltService,
  type ConnectServer,
  type Route,
  type RpcServerCredentials,
} from '@tessera/rpc';
import type { Logger } from '@tessera/telemetry';
import type { AdminConfig } from './config.ts';
import { loadRequestRules } from './rules/request-rules.ts';

interface Options {
  /** Of operators, who need no access token; default: those of `TESSERA_RPC_AUTH`, if they are set. */
  readonly credentials?: RpcServerCredentials;
  /** Services in this process, whose methods for `operator` are served too. */
  readonly besides?: readonly BuiltService[];
  /** Pages for administrators, on the same listener. */
  readonly pages?: Parameters<typeof serveConnect>[1]['pages'];
  readonly log: Logger;
  readonly drainMs: number;
}

/** Serves the administration API over Connect, gRPC, gRPC-web and JSON. Undefined if no port is configured. */
export async function serveAdministration(
  admin: BuiltService,
  config: AdminConfig & RpcConfig,
  { credentials = operatorCredentials(config), besides = [], pages, log, drainMs }: Options,
): Promise<ConnectServer | undefined> {
  const { TESSERA_ADMIN_HOST: host, TESSERA_ADMIN_PORT: port } = config;
  if (port === undefined) return undefined;
  await loadRequestRules(admin.routes.map(({ service }) => service));
  const others = besides.flatMap((built) => built.routes.map(forOperators));
  const own = admin.routes.map((route) => {
    const other = others.find(({ service }) => service.typeName === route.service.typeName);
    return other === undefined ? route : completed(route, other);
  });
  const names = new Set(own.map(({ service }) => service.typeName));
  const routes = [...own, ...others.filter(({ service }) => !names.has(service.typeName))];
  const server = await serveConnect(
    { routes },
    { host, port, credentials, certificates: 'optional', pages, log, drainMs },
  );
  log.info({ host: server.host, port: server.port }, 'serving administration');
  return server;
}

/**
 * Without any, access tokens alone open the API: names that callers claim are worth nothing where pages in browsers can
 * call.
 */
function operatorCredentials(config: RpcConfig): RpcServerCredentials {
  const { TESSERA_RPC_AUTH: auth, TESSERA_RPC_TOKEN: token } = config;
  return auth === 'none' || (auth === 'token' && token === undefined)
    ? { kind: 'bearer' }
    : rpcCredentials(config);
}

/** The route without the methods that are declared for others alone. */
function forOperators(route: Route): Route {
  const methods = route.service.methods.filter((method) =>
    declaredAccess(method).callers.includes('operator'),
  );
  return { ...route, service: { ...route.service, methods } };
}

/** The route with the methods that another one has besides. */
function completed(route: Route, other: Route): Route {
  const names = new Set(route.service.methods.map(({ name }) => name));
  const more = other.service.methods.filter(({ name }) => !names.has(name));
  const service = { ...route.service, methods: [...route.service.methods, ...more] };
  return { ...route, service, handlers: { ...other.handlers, ...route.handlers } };
}
