/**
 * What a service installs that asks Tessera whether a token is good: an introspector with cache, batching, retries and
 * the watch of revocations, and adapters that put the answer on a request. It knows no other package of the server than
 * its generated messages. A server that cannot answer is an error here, never an inactive token.
 */
export { createIntrospector } from './introspector.ts';
export { clientCredentials } from './access-token-source.ts';
export type { AccessTokenSource, ClientCredentialsOptions } from './access-token-source.ts';
export { IntrospectionError } from './errors.ts';
export type { ErrorCode } from './errors.ts';
export { createGuard } from './guard.ts';
export type { Guard, GuardRefusal, GuardVerdict, Requirement } from './guard.ts';
export { connectBearer, connectToken } from './adapters/connect.ts';
export { expressBearer } from './adapters/express.ts';
export { fastifyBearer } from './adapters/fastify.ts';
export { grpcBearer, grpcToken } from './adapters/grpc.ts';
export type * from './types.ts';
