/**
 * What a caller of services needs in addition to their messages: it loads no host, no gRPC, no log and no metrics, so
 * that a program that runs for one call starts fast.
 */
export { create } from '@bufbuild/protobuf';
export type { DescMessage, DescMethod, DescService, JsonValue, MessageShape } from '@bufbuild/protobuf';
export { timestampFromMs, timestampMs } from '@bufbuild/protobuf/wkt';
export { rootCall } from './call-options.ts';
export { Code, ConnectError, type CallOptions, type Client } from './call.ts';
export { createChallenge, nonceHeader, proofPath, type Proof } from './token-proof.ts';
export { operatorRemedy } from './errors/operator-action.ts';
export type { RemoteService } from './client/remote.ts';
export { fieldViolations, type FieldViolation } from './errors/field-violations.ts';
export { notUnderstood, whereOffered } from './errors/other-version.ts';
export { readPages } from './page-token.ts';
export { parseTarget } from './client/target.ts';
