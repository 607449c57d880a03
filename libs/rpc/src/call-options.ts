import type { CallOptions } from '@connectrpc/connect';

/** Metadata key of the request id. */
export const requestIdKey = 'x-request-id';

/** Time kept back at every hop, so that the caller still hears the answer before its own caller gives up. */
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

/** The request id among the headers of call options: the one header that travels. */
export function requestIdOf(options: CallOptions | undefined): string | undefined {
  const headers: unknown = options?.headers;
  if (typeof headers !== 'object' || headers === null) return undefined;
  if (requestIdKey in headers) return acceptableRequestId(headers[requestIdKey]);
  if (!(Symbol.iterator in headers)) return undefined;
  const entries = [...(headers as Iterable<[string, string]>)];
  return acceptableRequestId(new Map(entries).get(requestIdKey));
}

/** A request id that may stand in metadata and in a log line; anything else is as good as none. */
export function acceptableRequestId(value: unknown): string | undefined {
  return typeof value === 'string' && /^[!-~]{1,128}$/.test(value) ? value : undefined;
}

/** Absolute deadline in milliseconds since the Unix epoch; Infinity without one (a time-out of zero or less means none). */
export function deadlineOf(options: CallOptions | undefined, defaultTimeoutMs?: number): number {
  const timeoutMs = options?.timeoutMs ?? defaultTimeoutMs;
  return timeoutMs === undefined || timeoutMs <= 0 ? Infinity : Date.now() + timeoutMs;
}
