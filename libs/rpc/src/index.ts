/**
 * Calls between services: `serve`, `connectPeer` and `local`, who may call what, and how errors travel. It knows no service.
 */
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
export { certifiedCaller } from './identity.ts';
export { local } from './local.ts';
export type { Peer } from './remote.ts';
export type { RpcServer } from './serve.ts';
export { awaitShared, sharedCall } from './shared-call.ts';
export { parseTarget } from './target.ts';
export { connectPeer, serve } from './wire.ts';
