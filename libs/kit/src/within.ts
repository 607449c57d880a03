import { addAbortListener } from 'node:events';

/** Work took longer than it may. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError';
}

/** The outcome of `work`, or a rejection with TimeLimitError after `timeoutMs`; the work goes on. */
export async function within<T>(timeoutMs: number, work: Promise<T>): Promise<T> {
  const { promise: expired, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new TimeLimitError(`No answer within ${timeoutMs} ms.`)), timeoutMs);
  try {
    return await Promise.race([work, expired]);
  } finally {
    clearTimeout(timer);
  }
}

/** The outcome of `work`, or a rejection with the reason of `signal` as soon as it is aborted; the work goes on. */
export async function unlessAborted<T>(signal: AbortSignal, work: Promise<T>): Promise<T> {
  const { promise, resolve, reject } = Promise.withResolvers<T>();
  const aborting = addAbortListener(signal, () => reject(signal.reason));
  work.then(resolve, reject);
  return promise.finally(() => aborting[Symbol.dispose]());
}
