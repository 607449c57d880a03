import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorReason, type Logger, type RepeatedWarnings } from '@tessera/telemetry';
import { OAuthError, waitingPhase, type ErrorCode } from '@tessera/oauth';
import { refusedByPeer } from '@tessera/rpc';

/** Codes for the log and the status alone; clients get the registered code that covers them. */
const registered: Readonly<Partial<Record<ErrorCode, ErrorCode>>> = {
  expectation_failed: 'invalid_request',
  method_not_allowed: 'invalid_request',
  not_found: 'invalid_request',
  payload_too_large: 'invalid_request',
  unsupported_media_type: 'invalid_request',
};

/**
 * For a request that the load shedding refuses. Made once: an error with a stack for each would cost as much as some
 * answers.
 */
export const overloaded = new OAuthError(
  'temporarily_unavailable',
  'The service is overloaded. Try again in a moment.',
  { retryAfterSeconds: 2 },
);

/** Where failures of requests are logged. */
export interface FailureLog {
  readonly log: Logger;
  readonly warnings: RepeatedWarnings;
}

/** The code a client sees for an error. */
export function publicCode(error: OAuthError): ErrorCode {
  return registered[error.code] ?? error.code;
}

/**
 * Turns whatever was thrown into the one error type. An error that is not an OAuthError is logged with the request id
 * and becomes `server_error` without detail. Anyone can repeat a request that fails, so `warnings` limits those lines.
 */
export function asOAuthError(thrown: unknown, requestId: string, { log, warnings }: FailureLog): OAuthError {
  const known = thrown instanceof OAuthError ? thrown : refusedByPeer(thrown);
  if (known !== undefined) {
    const { phase, reason } = known.refusal ?? {};
    // An overload is logged where it is noticed, not for every request, and so is a server of others that is silent.
    if (phase === waitingPhase) {
      if (reason !== undefined) warnings.warn(reason, { requestId, reason }, 'request refused');
    } else if (known.status >= 500 && known !== overloaded)
      warnings.warn(causeOf(known), { requestId, ...whyOf(known) }, 'request failed');
    return known;
  }
  const framework = frameworkError(thrown);
  if (framework !== undefined) return framework;
  log.error({ requestId, err: thrown }, 'unhandled error in a request');
  return new OAuthError('server_error', 'Internal server error.');
}

/** A process that is away is no surprise: no stack is logged. */
function whyOf(error: OAuthError): { readonly reason: string } | { readonly err: OAuthError } {
  return error.status === 503 ? { reason: errorReason(error) } : { err: error };
}

/** Failures with the same sentence and the same kind of cause are one. */
function causeOf({ code, message, cause }: OAuthError): string {
  const kind = cause instanceof Error ? cause.name : '';
  const detail = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return [code, message, kind, detail].join(' ');
}

/** Requests that the HTTP framework refuses before a handler runs. */
function frameworkError(thrown: unknown): OAuthError | undefined {
  const code = thrown instanceof Error && 'code' in thrown ? thrown.code : undefined;
  const status = thrown instanceof Error && 'statusCode' in thrown ? thrown.statusCode : undefined;
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE')
    return new OAuthError('payload_too_large', 'The body is too large.');
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') {
    return new OAuthError('unsupported_media_type', 'Unsupported content type.');
  }
  if (typeof status === 'number' && status >= 400 && status < 500) {
    return new OAuthError('invalid_request', 'The request could not be read.');
  }
  return undefined;
}

/** Sets the status and headers of an error, whatever the shape of its body. */
export function errorHeaders(request: FastifyRequest, reply: FastifyReply, error: OAuthError): void {
  request.failure = error.code;
  request.refusal = error.refusal;
  reply.code(error.status).header('cache-control', 'no-store');
  if (error.status === 503 || error.status === 429) {
    reply.header('retry-after', String(error.retryAfterSeconds ?? 1));
  } else if (error.retryAfterSeconds !== undefined) {
    reply.header('retry-after', String(error.retryAfterSeconds));
  }
  if (error.code === 'invalid_client' && request.headers.authorization !== undefined) {
    reply.header('www-authenticate', 'Basic realm="tessera", charset="UTF-8"');
  }
}
