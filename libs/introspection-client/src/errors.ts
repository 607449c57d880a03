import { status, type ServiceError } from '@grpc/grpc-js';

/** Why nothing can be told of a token. */
export type ErrorCode =
  | 'unavailable'
  | 'deadline_exceeded'
  /** Our own proof of who we are was not accepted. */
  | 'unauthenticated'
  | 'permission_denied'
  | 'invalid_argument'
  | 'cancelled'
  | 'closed'
  | 'internal';

/** The server was not reached, did not answer in time, or did not let us ask. It says nothing about the token. */
export class IntrospectionError extends Error {
  override readonly name = 'IntrospectionError';
  readonly code: ErrorCode;
  /** Seconds to wait before asking again; 0 without advice. */
  readonly retryAfterSeconds: number;

  constructor(
    code: ErrorCode,
    message: string,
    options: { cause?: unknown; retryAfterSeconds?: number } = {},
  ) {
    super(message, options.cause === undefined ? {} : { cause: options.cause });
    this.code = code;
    this.retryAfterSeconds = options.retryAfterSeconds ?? 0;
  }
}

const codes: Partial<Record<status, ErrorCode>> = {
  [status.UNAVAILABLE]: 'unavailable',
  [status.DEADLINE_EXCEEDED]: 'deadline_exceeded',
  [status.UNAUTHENTICATED]: 'unauthenticated',
  [status.PERMISSION_DENIED]: 'permission_denied',
  [status.INVALID_ARGUMENT]: 'invalid_argument',
  [status.CANCELLED]: 'unavailable',
};

export function fromServiceError(error: ServiceError): IntrospectionError {
  const code = codes[error.code] ?? 'internal';
  return new IntrospectionError(code, `introspection: ${error.details || error.message}`, { cause: error });
}
