import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { BinaryReader, BinaryWriter, WireType } from '@bufbuild/protobuf/wire';
import { AnySchema, anyPack, anyUnpack } from '@bufbuild/protobuf/wkt';
import type { Any } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { isErrorCode, OAuthError } from '@tessera/oauth';
import type { ErrorCode } from '@tessera/oauth';
import { OAuthErrorDetailSchema } from '@tessera/proto-gen/error';
import { seenByCaller } from './refusal.ts';
import type { PublicError } from './refusal.ts';

/** How a call ended, as it is said on the wire. */
export interface WireStatus {
  /** As gRPC numbers them, and Connect after it; 0 is OK. */
  readonly code: Code | typeof ok;
  readonly details: string;
  /** A google.rpc.Status, where a handler decided. */
  readonly detail?: Buffer | undefined;
}

/** Connect has no name for it. */
export const ok = 0;

/** Of the trailers that carry `WireStatus.detail`. */
export const detailKey = 'grpc-status-details-bin';

/** gRPC status of each protocol error, for dashboards and stock clients; ours read the detail. Others: INVALID_ARGUMENT. */
const statusCodes: Partial<Record<ErrorCode, Code>> = {
  invalid_client: Code.Unauthenticated,
  invalid_token: Code.Unauthenticated,
  insufficient_scope: Code.PermissionDenied,
  access_denied: Code.PermissionDenied,
  unauthorized_client: Code.PermissionDenied,
  login_required: Code.FailedPrecondition,
  interaction_required: Code.FailedPrecondition,
  consent_required: Code.FailedPrecondition,
  authorization_pending: Code.FailedPrecondition,
  expired_token: Code.FailedPrecondition,
  slow_down: Code.ResourceExhausted,
  rate_limited: Code.ResourceExhausted,
  payload_too_large: Code.ResourceExhausted,
  not_found: Code.NotFound,
  method_not_allowed: Code.Unimplemented,
  server_error: Code.Internal,
  temporarily_unavailable: Code.Unavailable,
};

/** The gRPC status of an error: code, public sentence and, for a protocol error, its detail. */
export function toStatus(error: PublicError): WireStatus {
  if (error instanceof ConnectError) return { code: error.code, details: error.rawMessage };
  const code = statusCodes[error.code] ?? Code.InvalidArgument;
  const detail = create(OAuthErrorDetailSchema, {
    code: error.code,
    message: error.message,
    retryAfterSeconds: error.retryAfterSeconds ?? 0,
  });
  const packed = anyPack(OAuthErrorDetailSchema, detail);
  return { code, details: error.message, detail: statusDetails(code, error.message, packed) };
}

/**
 * What a client throws for a status that is not OK: the protocol error it carries, `temporarily_unavailable` for a
 * peer that cannot be reached or did not answer in time, else a ConnectError.
 */
export function fromStatus(received: WireStatus, method: string): PublicError {
  const carried = carriedError(received.detail);
  if (carried !== undefined) return carried;
  const { code, details } = received;
  return seenByCaller(new ConnectError(details, code in Code ? (code as Code) : Code.Unknown), method);
}

/** Whether the status was decided by a handler, which no second attempt would change. */
export function isDeliberate(received: WireStatus): boolean {
  return received.detail !== undefined;
}

function carriedError(status: Buffer | undefined): OAuthError | undefined {
  if (status === undefined) return undefined;
  try {
    for (const any of readDetails(status)) {
      const detail = anyUnpack(any, OAuthErrorDetailSchema);
      if (detail === undefined || !isErrorCode(detail.code)) continue;
      const seconds = detail.retryAfterSeconds;
      return new OAuthError(detail.code, detail.message, seconds > 0 ? { retryAfterSeconds: seconds } : {});
    }
  } catch {
    // A peer that writes garbage is judged by its plain status.
  }
  return undefined;
}

/** google.rpc.Status: `int32 code = 1; string message = 2; repeated google.protobuf.Any details = 3`. */
function statusDetails(code: Code, message: string, detail: Any): Buffer {
  const writer = new BinaryWriter();
  writer.tag(1, WireType.Varint).int32(code);
  writer.tag(2, WireType.LengthDelimited).string(message);
  writer.tag(3, WireType.LengthDelimited).bytes(toBinary(AnySchema, detail));
  return Buffer.from(writer.finish());
}

function* readDetails(bytes: Uint8Array): Generator<Any> {
  const reader = new BinaryReader(bytes);
  while (reader.pos < reader.len) {
    const [field, type] = reader.tag();
    if (field === 3 && type === WireType.LengthDelimited) yield fromBinary(AnySchema, reader.bytes());
    else reader.skip(type, field);
  }
}
