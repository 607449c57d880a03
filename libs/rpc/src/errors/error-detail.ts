import { create } from '@bufbuild/protobuf';
import { Code } from '@connectrpc/connect';
import type { ErrorCode, OAuthError } from '@tessera/oauth';
import { OAuthErrorDetailSchema, type OAuthErrorDetail } from '@tessera/proto-gen/error';

/**
 * The code of each protocol error, for dashboards and stock clients; ours read the detail. Others: INVALID_ARGUMENT.
 */
const codes: Partial<Record<ErrorCode, Code>> = {
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

/** The code of gRPC and Connect for a protocol error. */
export function codeOf(error: OAuthError): Code {
  return codes[error.code] ?? Code.InvalidArgument;
}

/** What travels of a protocol error in addition to its code and message. */
export function detailOf(error: OAuthError): OAuthErrorDetail {
  return create(OAuthErrorDetailSchema, {
    code: error.code,
    message: error.message,
    retryAfterSeconds: error.retryAfterSeconds ?? 0,
    refusedClientId: error.refusal?.clientId ?? '',
    refusedPhase: error.refusal?.phase ?? '',
    refusedReason: error.refusal?.reason ?? '',
    refusedReceived: error.refusal?.received ?? '',
    refusedHint: error.refusal?.hint ?? '',
  });
}
