/**
 * The one error type of the protocol and the one table with the HTTP status and use of each code.
 * Sources: RFC 6749 §4.1.2.1 and §5.2, RFC 6750 §3.1, RFC 7009 §2.2.1, RFC 8628 §3.5, RFC 8707 §2,
 * OIDC Core §3.1.2.6, CIBA Core §13, RFC 9470 §3.
 */

interface ErrorEntry {
  /** HTTP status of a response with this code. */
  readonly status: number;
  /** Whether the authorization endpoint may send the code to the client by redirect. */
  readonly redirect: boolean;
}

export const errorTable = {
  invalid_request: { status: 400, redirect: true },
  invalid_client: { status: 401, redirect: false },
  invalid_grant: { status: 400, redirect: false },
  unauthorized_client: { status: 400, redirect: true },
  unsupported_grant_type: { status: 400, redirect: false },
  unsupported_response_type: { status: 400, redirect: true },
  unsupported_token_type: { status: 400, redirect: false },
  invalid_scope: { status: 400, redirect: true },
  invalid_target: { status: 400, redirect: true },
  access_denied: { status: 400, redirect: true },
  login_required: { status: 400, redirect: true },
  interaction_required: { status: 400, redirect: true },
  consent_required: { status: 400, redirect: true },
  request_not_supported: { status: 400, redirect: true },
  request_uri_not_supported: { status: 400, redirect: true },
  registration_not_supported: { status: 400, redirect: true },
  invalid_token: { status: 401, redirect: false },
  insufficient_scope: { status: 403, redirect: false },
  insufficient_user_authentication: { status: 401, redirect: false },
  authorization_pending: { status: 400, redirect: false },
  slow_down: { status: 400, redirect: false },
  expired_token: { status: 400, redirect: false },
  unknown_user_id: { status: 400, redirect: false },
  invalid_binding_message: { status: 400, redirect: false },
  missing_user_code: { status: 400, redirect: false },
  expired_login_hint_token: { status: 400, redirect: false },
  transaction_failed: { status: 400, redirect: false },
  rate_limited: { status: 429, redirect: false },
  not_found: { status: 404, redirect: false },
  method_not_allowed: { status: 405, redirect: false },
  unsupported_media_type: { status: 415, redirect: false },
  payload_too_large: { status: 413, redirect: false },
  expectation_failed: { status: 417, redirect: false },
  server_error: { status: 500, redirect: true },
  temporarily_unavailable: { status: 503, redirect: true },
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof errorTable;

export function isErrorCode(value: string): value is ErrorCode {
  return Object.hasOwn(errorTable, value);
}

/**
 * What the access log and the audit trail say of a refused request: texts of ours, the identifier of a known client,
 * and of what the request has only `received`.
 */
export interface Refusal {
  readonly clientId?: string | undefined;
  /** The check that failed. */
  readonly phase?: string | undefined;
  readonly reason?: string | undefined;
  /** The value that was refused, from `receivedText` or `receivedUri`. Never one that may be a secret. */
  readonly received?: string | undefined;
  /** What its sender may change, a sentence. */
  readonly hint?: string | undefined;
}

const mostReceived = 200;

/** The start of a value of a request, for the log and the audit trail, which escape what acts on a screen. */
export function receivedText(value: string): string {
  return value.length > mostReceived ? `${value.slice(0, mostReceived)}...` : value;
}

/** The same of a URI, without user, fragment and the values of its query: they may hold secrets. */
export function receivedUri(uri: string): string {
  const open = uri
    .replace(/#.*$/s, '')
    .replace(/^([a-z][a-z0-9+.-]*:\/\/)[^/?#]*@/i, '$1')
    .replace(/([?&][^=&?]*)=[^&]*/g, '$1=...');
  return receivedText(open);
}

export interface OAuthErrorOptions {
  /** Why, for the log; never shown to the client and never sent to another service. */
  readonly cause?: unknown;
  /** Seconds for `Retry-After`. */
  readonly retryAfterSeconds?: number | undefined;
  /** For the access log; sent to the gateway and never shown to the client. */
  readonly refusal?: Refusal | undefined;
}

/** A protocol error: a registered code, one sentence for the client, and a private cause for the log. */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  readonly code: ErrorCode;
  readonly retryAfterSeconds: number | undefined;
  readonly refusal: Refusal | undefined;

  constructor(code: ErrorCode, message: string, options: OAuthErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.refusal = options.refusal;
  }

  /** The same error for the client, with more for the access log. */
  withRefusal(refusal: Refusal): OAuthError {
    const { code, message, cause, retryAfterSeconds } = this;
    return new OAuthError(code, message, {
      cause,
      retryAfterSeconds,
      refusal: { ...this.refusal, ...refusal },
    });
  }

  get status(): number {
    return errorTable[this.code].status;
  }
}

const noRefusals: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'authorization_pending',
  'slow_down',
  'server_error',
  'temporarily_unavailable',
]);

/** Whether an error refuses nothing: it is of normal operation, as for a poll that comes early, or of a server. */
export function isNoRefusal({ code }: OAuthError): boolean {
  return noRefusals.has(code);
}

/**
 * The phase of a request that is refused because of a server of others: many may be, so that they are not logged one by
 * one.
 */
export const waitingPhase = 'waiting for others';

/** The error for a failing store or service. It says nothing about the token or grant itself. */
export function temporarilyUnavailable(cause?: unknown, retryAfterSeconds = 1): OAuthError {
  return new OAuthError('temporarily_unavailable', 'The service is temporarily unavailable. Try again.', {
    cause,
    retryAfterSeconds,
  });
}

/**
 * The error for a change that was on its way when a store or service failed. Any other 503 means that nothing was
 * changed.
 */
export function outcomeUnknown(cause: unknown): OAuthError {
  const message = 'The service is temporarily unavailable. It is not known whether this was done.';
  return new OAuthError('temporarily_unavailable', message, { cause, retryAfterSeconds: 1 });
}
