import { temporarilyUnavailable } from '@tessera/oauth';
import type { CallOptions } from './call.ts';
import { requestIdOf, rootCall } from './call-options.ts';
import { cancelled, deadlineExceeded } from './served-call.ts';

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
export async function awaitShared<T>(work: Promise<T>, { signal, timeoutMs = 0 }: CallOptions): Promise<T> {
  if (signal === undefined && timeoutMs <= 0) return work;
  const { promise: leaving, reject } = Promise.withResolvers<never>();
  const onTimeout = () => reject(temporarilyUnavailable(deadlineExceeded()));
  const onAbort = () => reject(cancelled());
  const timer = timeoutMs > 0 ? setTimeout(onTimeout, timeoutMs) : undefined;
  if (signal?.aborted === true) onAbort();
  else signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await Promise.race([work, leaving]);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener('abort', onAbort);
  }
}
