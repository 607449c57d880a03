/**
 * Calls between services: `serve`, `serveConnect`, `local`, `openRemoteService` (in `@tessera/rpc/remote`), who may
 * call what, and how errors travel. It knows no service.
 *
 *     caller ─> typed-client ─┬─> hosts/in-process/ ─────────────────────┐ compact
 *                             └─> client/ ─> channel ══> hosts/grpc/ ────┤ split
 *     curl, browsers ═════════════════════════════════> hosts/connect/ ──┤
 *                                                                        └─> access/ ─> hosts/invocation ─> handler
 *     errors: OAuthError ─> status with details ─> OAuthError; a failed transport is temporarily_unavailable
 *     deadline, request id and traceparent travel with the call
 */
import type { BuiltService } from './call.ts';
import type { ConnectServeOptions, ConnectServer } from './hosts/connect/serve-connect.ts';
import type { RpcServer, ServeOptions } from './hosts/grpc/serve-grpc.ts';
import type { callingByToken as Calling } from './hosts/in-process/by-token.ts';

export * from './caller.ts';
export { clearField } from '@bufbuild/protobuf';
export { onBehalfOf } from './actor.ts';
export { awaitShared, sharedCall } from './call-options.ts';
export { route, routeWhenCalled } from './call.ts';
export type {
  Actor,
  AuthenticateBearer,
  BearerIdentity,
  BuiltService,
  CallContext,
  CallerName,
  Handlers,
  Principal,
  Route,
} from './call.ts';
export { createProver } from './token-proof.ts';
export type { RpcCredentials, RpcServerCredentials } from './credentials.ts';
export { declaredAccess, type DeclaredAccess } from './access/declared-access.ts';
export { certifiedName } from './access/caller-of-certificate.ts';
export { isUnanswered } from './errors/refusal.ts';
export { needsOperator } from './errors/operator-action.ts';
export type { ByToken } from './hosts/in-process/by-token.ts';
export { isLocal, local } from './hosts/in-process/local.ts';
export type { ConnectServer } from './hosts/connect/serve-connect.ts';
export type { RpcServer } from './hosts/grpc/serve-grpc.ts';
export { fieldViolations, invalidFields } from './errors/field-violations.ts';
export { notOffered, notUnderstood, readStored, refusedByPeer } from './errors/other-version.ts';
export { pageOf, pageRequest, pageToken, type PageRequest } from './page-token.ts';
export { storedMessage, type StoredMessage } from './stored-message.ts';

// gRPC and Connect's server are loaded with their first use, and `openRemoteService` from `@tessera/rpc/remote`:
// compact needs neither, and it takes 5 MiB.

/** Serves over gRPC, as `serve.ts` describes. */
export async function serve(built: BuiltService, options: ServeOptions): Promise<RpcServer> {
  return (await import('./hosts/grpc/serve-grpc.ts')).serve(built, options);
}

/** Serves over Connect, gRPC-web and gRPC, as `hosts/connect/serve-connect.ts` describes. */
export async function serveConnect(
  built: Pick<BuiltService, 'routes'>,
  options: ConnectServeOptions,
): Promise<ConnectServer> {
  return (await import('./hosts/connect/serve-connect.ts')).serveConnect(built, options);
}

/** Calls by an access token in this process, as `hosts/in-process/by-token.ts` describes. */
export async function callingByToken(
  ...given: Parameters<typeof Calling>
): Promise<ReturnType<typeof Calling>> {
  return (await import('./hosts/in-process/by-token.ts')).callingByToken(...given);
}
