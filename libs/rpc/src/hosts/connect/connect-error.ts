import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthErrorDetailSchema } from '@tessera/proto-gen/error';
import { codeOf, detailOf } from '../../errors/error-detail.ts';
import { fieldViolations, invalidFields } from '../../errors/field-violations.ts';
import type { PublicError } from '../../errors/refusal.ts';

/**
 * The error as Connect, gRPC and gRPC-web carry it: code, public sentence and, for a protocol error, its detail and
 * Retry-After.
 */
export function toConnectError(error: PublicError): ConnectError {
  if (error instanceof ConnectError) {
    const fields = fieldViolations(error);
    return fields.length > 0
      ? invalidFields(fields, error.code)
      : new ConnectError(error.rawMessage, error.code);
  }
  const detail = { desc: OAuthErrorDetailSchema, value: detailOf(error) };
  const { retryAfterSeconds } = error;
  const headers = retryAfterSeconds === undefined ? {} : { 'retry-after': String(retryAfterSeconds) };
  return new ConnectError(error.message, codeOf(error), headers, [detail]);
}

export const shuttingDown = () => new ConnectError('the server is shutting down', Code.Unavailable);
