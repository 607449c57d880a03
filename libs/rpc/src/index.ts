/**
 * Calls between services: `serve`, `openRemoteService` and `local`, the caller allow-list, and how errors travel. It knows no
 * service.
 */
import type { BuiltService } from './call.ts';
import type { RemoteOptions, RemoteService } from './remote.ts';
import type { RpcServer, ServeOptions } from './serve.ts';

export { rootCall } from './call-options.ts';
export { Code, ConnectError, route } from './call.ts';
export type {
  Allow,
  AuthenticateBearer,
  BuiltService,
  CallContext,
  CallerName,
  Handlers,
  Principal,
  Route,
  BearerIdentity,
  CallOptions,
  Client,
} from './call.ts';
export type { RpcCredentials } from './credentials.ts';
export { guarded } from './guarded.ts';
export { certifiedCaller } from './identity.ts';
export { local } from './local.ts';
export type { RemoteService } from './remote.ts';
export type { RpcServer } from './serve.ts';
export { awaitShared, sharedCall } from './shared-call.ts';
export { parseTarget } from './target.ts';

// gRPC is loaded with the first use of these two, because compact needs neither and it takes 5 MiB.

/** Serves over gRPC, as `serve.ts` describes. */
export async function serve(built: BuiltService, options: ServeOptions): Promise<RpcServer> {
  return (await import('./serve.ts')).serve(built, options);
}

/** Calls over gRPC, as `remote.ts` describes. */
export async function openRemoteService(options: RemoteOptions): Promise<RemoteService> {
  return (await import('./remote.ts')).openRemoteService(options);
}
