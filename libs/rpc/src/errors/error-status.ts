import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import { anyPack, anyUnpack, type Any } from '@bufbuild/protobuf/wkt';
import { Code, ConnectError } from '@connectrpc/connect';
import { Metadata, type StatusObject } from '@grpc/grpc-js';
import { isErrorCode, OAuthError } from '@tessera/oauth';
import { ErrorStatusSchema, OAuthErrorDetailSchema } from '@tessera/proto-gen/error';
import { BadRequestSchema } from '@tessera/proto-gen/error-details';
import { codeOf, detailOf } from './error-detail.ts';
import { fieldViolations, invalidFields } from './field-violations.ts';
import { notUnderstood } from './other-version.ts';
import { seenByCaller, type PublicError } from './refusal.ts';

/** Trailer with a google.rpc.Status, where a handler decided. */
const detailKey = 'grpc-status-details-bin';

/** Tells gRPC clients not to retry (gRFC A6): the handler decided, and another attempt would change nothing. */
const pushbackKey = 'grpc-retry-pushback-ms';

/** The gRPC status of an error: code, public sentence and, for a protocol error, its detail. */
export function toStatus(error: PublicError): StatusObject {
  const metadata = new Metadata();
  if (error instanceof ConnectError) {
    // Both number their codes as gRPC does.
    const code = error.code as number;
    const fields = fieldViolations(error);
    if (fields.length > 0) {
      const detail = create(BadRequestSchema, { fieldViolations: fields });
      metadata.set(detailKey, statusWith(code, error.rawMessage, anyPack(BadRequestSchema, detail)));
    }
    return { code, details: error.rawMessage, metadata };
  }
  const code = codeOf(error);
  metadata.set(detailKey, statusWith(code, error.message, anyPack(OAuthErrorDetailSchema, detailOf(error))));
  if (code === Code.Unavailable) metadata.set(pushbackKey, '-1');
  return { code: code as number, details: error.message, metadata };
}

function statusWith(code: number, message: string, detail: Any): Buffer {
  const status = create(ErrorStatusSchema, { code, message, details: [detail] });
  return Buffer.from(toBinary(ErrorStatusSchema, status));
}

/**
 * What a client throws for a status that is not OK: the protocol error or the fields in its details,
 * `temporarily_unavailable` for a service that cannot be reached, did not answer in time or is of another version, else
 * a ConnectError.
 */
export function fromStatus({ code, details, metadata }: StatusObject, method: string): PublicError {
  const [detail] = metadata.get(detailKey);
  const known = (code as number) in Code ? (code as number as Code) : Code.Unknown;
  const carried = Buffer.isBuffer(detail) ? carriedError(detail, known) : undefined;
  if (carried !== undefined) return carried;
  return seenByCaller(new ConnectError(details, known), method);
}

function carriedError(status: Buffer, code: Code): PublicError | undefined {
  try {
    for (const any of fromBinary(ErrorStatusSchema, status).details) {
      const fields = anyUnpack(any, BadRequestSchema)?.fieldViolations ?? [];
      if (fields.length > 0) return invalidFields(fields, code);
      const detail = anyUnpack(any, OAuthErrorDetailSchema);
      if (detail === undefined) continue;
      if (!isErrorCode(detail.code)) return notUnderstood(`the error ${detail.code}`);
      const { retryAfterSeconds, refusedClientId, refusedPhase, refusedReason } = detail;
      const { refusedReceived, refusedHint } = detail;
      const refusal = {
        clientId: refusedClientId || undefined,
        phase: refusedPhase || undefined,
        reason: refusedReason || undefined,
        received: refusedReceived || undefined,
        hint: refusedHint || undefined,
      };
      return new OAuthError(detail.code, detail.message, {
        ...(retryAfterSeconds > 0 && { retryAfterSeconds }),
        ...(Object.values(refusal).some((value) => value !== undefined) && { refusal }),
      });
    }
  } catch {
    // Of a status with unreadable details the code and the message remain.
  }
  return undefined;
}
