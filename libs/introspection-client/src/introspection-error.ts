import { status, type ServiceError } from '@grpc/grpc-js';

/** Why a token could not be introspected. */
export type ErrorCode =
  | 'unavailable'
  | 'deadline_exceeded'
  /** The server did not accept the credentials. */
  | 'unauthenticated'
  | 'permission_denied'
  | 'invalid_argument'
  /** The server no longer has the cursor of the watch; the introspector handles it. */
  | 'out_of_range'
  | 'closed'
  | 'internal';

/** The server was unreachable, timed out or refused the caller. Reveals nothing about the token. */
export class IntrospectionError extends Error {
  override readonly name = 'IntrospectionError';
  readonly code: ErrorCode;
  /** Seconds to wait before a retry; 0 without advice. */
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
  [status.OUT_OF_RANGE]: 'out_of_range',
  [status.CANCELLED]: 'unavailable',
};

/** The error of a failed call. A closed channel throws an error without a status. */
export function errorOf(error: unknown): IntrospectionError {
  if (error instanceof IntrospectionError) return error;
  const { code, details, message } = error as ServiceError;
  if (code === undefined)
    return new IntrospectionError('closed', 'the introspector was closed', { cause: error });
  return new IntrospectionError(codes[code] ?? 'internal', `introspection: ${details || message}`, {
    cause: error,
  });
}
