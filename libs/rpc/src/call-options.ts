import { Code, ConnectError, type CallOptions } from '@connectrpc/connect';
import { temporarilyUnavailable } from '@tessera/oauth';

/** Metadata key of the request id. */
export const requestIdKey = 'x-request-id';

/** Time kept back at every hop, so that the response arrives before the caller's own deadline. */
export const hopMs = 20;

/** Under this much remaining time a call made onward is refused instead of started. */
export const minimumMs = 10;

/**
 * Options for the first call of a request: where it enters the system.
 * @param requestId follows the request through every service
 * @param timeoutMs how long the caller waits; absent: the default of the client, for a unary call
 * @param signal aborted when the caller gives up
 */
export function rootCall(requestId: string, timeoutMs?: number, signal?: AbortSignal): CallOptions {
  const options: CallOptions = { headers: { [requestIdKey]: requestId } };
  if (timeoutMs !== undefined) options.timeoutMs = timeoutMs;
  if (signal !== undefined) options.signal = signal;
  return options;
}

/** The request id among the headers of call options. */
export function requestIdOf(options: CallOptions | undefined): string | undefined {
  return acceptableRequestId(headersOf(options)[requestIdKey]);
}

/** The headers of call options, whatever form they have. Of them the request id and the actor travel. */
export function headersOf(options: CallOptions | undefined): Readonly<Record<string, string>> {
  const headers: unknown = options?.headers;
  if (typeof headers !== 'object' || headers === null) return {};
  if (!(Symbol.iterator in headers)) return headers as Record<string, string>;
  return Object.fromEntries(headers as Iterable<[string, string]>);
}

/** A request id that is safe in metadata and logs; undefined otherwise. */
export function acceptableRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && /^[!-~]{1,128}$/.test(value) ? value : undefined;
}

/**
 * Absolute deadline in milliseconds since the Unix epoch; Infinity without one (a time-out of zero or less means none).
 */
export function deadlineOf(options: CallOptions | undefined, defaultTimeoutMs?: number): number {
  const timeoutMs = options?.timeoutMs ?? defaultTimeoutMs;
  return timeoutMs === undefined || timeoutMs <= 0 ? Infinity : Date.now() + timeoutMs;
}

/** The caller no longer waits. */
export function cancelled(): ConnectError {
  return new ConnectError('the caller gave up', Code.Canceled);
}

/** The time of the call is over. */
function deadlineExceeded(): ConnectError {
  return new ConnectError('deadline exceeded', Code.DeadlineExceeded);
}

/** Calls `end` when the caller gives up or the time of the call is over, until the returned function stops that. */
export function watchEnd(
  { signal, timeoutMs = 0 }: CallOptions,
  end: (reason: ConnectError) => void,
): () => void {
  const onAbort = (): void => end(cancelled());
  if (signal?.aborted === true) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  const timer = timeoutMs > 0 ? setTimeout(() => end(deadlineExceeded()), timeoutMs) : undefined;
  return () => {
    signal?.removeEventListener('abort', onAbort);
    clearTimeout(timer);
  };
}

/** Whether something can end a call with these options early. */
export function isBounded({ signal, timeoutMs = 0 }: CallOptions): boolean {
  return signal !== undefined || timeoutMs > 0;
}

/**
 * Options for a call onward whose answer several callers wait for: the request id of `call`, who asked first, and the
 * usual time-out of the client. Neither the deadline nor the signal of one caller ends it for the others.
 */
export function sharedCall(call: CallOptions): CallOptions {
  const requestId = requestIdOf(call);
  return requestId === undefined ? {} : rootCall(requestId);
}

/**
 * The outcome of work that several callers wait for, for the caller with these options. Rejects with
 * `temporarily_unavailable` when its time is over and as cancelled when it gives up; the work goes on.
 */
export async function awaitShared<T>(work: Promise<T>, call: CallOptions): Promise<T> {
  if (!isBounded(call)) return work;
  const { promise: leaving, reject } = Promise.withResolvers<never>();
  const stop = watchEnd(call, (reason) =>
    reject(reason.code === Code.DeadlineExceeded ? temporarilyUnavailable(reason) : reason),
  );
  try {
    return await Promise.race([work, leaving]);
  } finally {
    stop();
  }
}
