/**
 * The client of the administration API for programs of others; `npm run pack:admin-client` makes a package of it.
 *
 *     your program ─> admin-client ══Connect══> tessera.admin.v1
 *     admin-client ─> own-access-tokens   asked before each call, in place of which the program may have its own
 *     field-errors   what an error says about fields of the request
 */
export { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
export { Code, ConnectError, type Client } from '@connectrpc/connect';
export { createAdminClient, type AdminClient, type AdminClientOptions } from './admin-client.ts';
export type { AccessTokenSource } from '@tessera/introspection-client/access-token-source';
export { clientCredentials, type AdminCredentials } from './own-access-tokens.ts';
export { fieldErrors, type FieldError } from './field-errors.ts';
export * from '@tessera/proto-gen/admin-all';
