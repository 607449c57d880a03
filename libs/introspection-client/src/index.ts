/**
 * Client for services that introspect tokens with Tessera: an introspector with cache, batching, retries and a watch
 * for revocations, and adapters that attach the result to a request. Depends on no package of the server but its
 * generated messages. An unavailable server is an error, never an inactive token.
 *
 *     your service ─> adapters/ ─> guard ─> introspector ─┬─> answer-cache
 *                                                         ├─> local/ local-verifier ─> published-keys   verifies by itself
 *                                                         └─> server/ batcher ─> introspection-server ──> IntrospectionService
 *     revocations/ watch <── WatchRevocations ─> ended   what must be asked again or refused
 */
export { createIntrospector } from './introspector.ts';
export { clientCredentials } from './access-token-source.ts';
export type { AccessTokenSource, ClientCredentialsOptions } from './access-token-source.ts';
export { IntrospectionError } from './introspection-error.ts';
export type { ErrorCode } from './introspection-error.ts';
export { createGuard } from './guard.ts';
export type { Guard, GuardRefusal, GuardVerdict, Requirement } from './guard.ts';
export { resourceMetadata } from './resource-metadata.ts';
export type { ProtectedResource, ResourceMetadata } from './resource-metadata.ts';
export { connectBearer, connectToken } from './adapters/connect-bearer.ts';
export { expressBearer } from './adapters/express-bearer.ts';
export { fastifyBearer } from './adapters/fastify-bearer.ts';
export { grpcBearer, grpcToken } from './adapters/grpc-bearer.ts';
export type * from './introspector-types.ts';
