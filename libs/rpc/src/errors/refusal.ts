import { Code, ConnectError } from '@connectrpc/connect';
import { OAuthError, temporarilyUnavailable, type Refusal } from '@tessera/oauth';
import type { Logger } from 'pino';
import { errorReason, limitRepeats, withoutTokens } from '@tessera/telemetry';
import type { Principal } from '../call.ts';
import { fieldViolations, invalidFields } from './field-violations.ts';
import type { ServedCall } from '../served-call.ts';
import { notOffered } from './other-version.ts';

/** An error that callers may see, without anything private. */
export type PublicError = OAuthError | ConnectError;

/** Turns what a handler threw into what its caller may see; the rest stays in the log of the serving side. */
export type Refuse = (error: unknown, call: ServedCall) => PublicError;

const oursToExplain: ReadonlySet<Code> = new Set([Code.Internal, Code.Unknown, Code.DataLoss]);

/**
 * @param method full name for the log, `<service>/<method>`
 */
export function refuseFor(log: Logger, method: string): Refuse {
  const warnings = limitRepeats(log);
  return (error, call) => {
    const { principal } = call;
    const where = { method, caller: call.caller, requestId: call.requestId };
    // Somebody with an access token has asked for more than it allows.
    if (principal !== undefined && error instanceof ConnectError && error.code === Code.PermissionDenied)
      warnings.warn(
        principal.kind,
        { ...where, principal: whoIs(principal), details: withoutTokens(error.rawMessage) },
        'call refused',
      );
    if (error instanceof OAuthError) return refuseProtocolError(error, log, where);
    if (call.cancellation !== undefined && isConsequence(error, call.cancellation)) {
      log.debug({ ...where, err: error }, 'call ended by its caller');
      return call.cancellation;
    }
    if (error instanceof ConnectError) return refuseConnectError(error, log, where);
    log.error({ ...where, err: error }, 'handler failed');
    return new ConnectError('internal error', Code.Internal);
  };
}

function whoIs({ kind, id, tenantId }: Principal): Pick<Principal, 'kind' | 'id' | 'tenantId'> {
  return { kind, id, ...(tenantId !== undefined && { tenantId }) };
}

/**
 * ResourceExhausted is one of them: a service refuses a client with an `OAuthError`, so this one is a limit on the way.
 */
const unavailableOrTooSlow: ReadonlySet<Code> = new Set([
  Code.Unavailable,
  Code.DeadlineExceeded,
  Code.ResourceExhausted,
]);

/** A peer that is unavailable, too slow or of another version is one thing to every caller; the rest passes. */
export function seenByCaller(error: PublicError, method: string): PublicError {
  if (error instanceof OAuthError) return error;
  if (error.code === Code.Unimplemented) return notOffered(method);
  if (!unavailableOrTooSlow.has(error.code)) return error;
  return temporarilyUnavailable(new Error(`${method}: ${error.message}`));
}

/** Whether a call failed without an answer of its service, so that what it asked for may have been done. */
export function isUnanswered(error: unknown): boolean {
  // What a service says comes without its cause.
  return error instanceof OAuthError && error.code === 'temporarily_unavailable' && error.cause !== undefined;
}

function refuseProtocolError(error: OAuthError, log: Logger, where: object): OAuthError {
  if (error.cause === undefined && error.code !== 'server_error') return error;
  const level = logLevel(error);
  const { code, message, retryAfterSeconds, refusal } = error;
  // What a client did wrong, and a store that is away, need a reason, not a stack.
  const why = level === 'error' ? { err: error } : { reason: reasonOf(error), ...saidOf(refusal) };
  log[level]({ ...where, errorCode: code, ...why }, 'call refused');
  return new OAuthError(code, message, { retryAfterSeconds, refusal });
}

/** Its cause says more than its message, which is for the client. */
function reasonOf(error: OAuthError): string {
  const { cause } = error;
  if (cause instanceof Error) return errorReason(cause);
  return typeof cause === 'string' ? cause : error.message;
}

function saidOf({ received, hint }: Refusal = {}): Pick<Refusal, 'received' | 'hint'> {
  return { ...(received !== undefined && { received }), ...(hint !== undefined && { hint }) };
}

function logLevel(error: OAuthError): 'error' | 'warn' | 'info' {
  if (error.code === 'server_error') return 'error';
  return error.code === 'temporarily_unavailable' ? 'warn' : 'info';
}

function refuseConnectError(error: ConnectError, log: Logger, where: object): ConnectError {
  if (oursToExplain.has(error.code)) {
    log.error({ ...where, errorCode: Code[error.code], err: error }, 'handler failed');
    return new ConnectError('internal error', Code.Internal);
  }
  const violations = fieldViolations(error);
  if (violations.length > 0) return invalidFields(violations, error.code);
  if (error.cause === undefined && error.details.length === 0) return error;
  const reason = error.cause instanceof Error ? errorReason(error.cause) : error.rawMessage;
  log.info({ ...where, errorCode: Code[error.code], reason }, 'call refused');
  return new ConnectError(error.rawMessage, error.code);
}

/** Whether an error only repeats that the caller gave up: an abort, or the cancellation handed on. */
function isConsequence(error: unknown, cancellation: ConnectError): boolean {
  if (error === cancellation) return true;
  if (error instanceof ConnectError) return error.code === Code.Canceled || error.code === cancellation.code;
  return error instanceof Error && error.name === 'AbortError';
}
