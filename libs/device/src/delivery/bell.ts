/** Tells any number of listeners that there may be something to do. */
export class Bell {
  #next = Promise.withResolvers<void>();

  /** Resolves at the next ring. To be had before one looks whether there is something to do. */
  get next(): Promise<void> {
    return this.#next.promise;
  }

  ring(): void {
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers();
    resolve();
  }
}

/** Resolves when `bell` does, after `milliseconds`, or as soon as one of the signals is aborted; whichever is first. */
export async function ringOrPause(
  bell: Promise<void>,
  milliseconds: number,
  signal: AbortSignal,
): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const timer = setTimeout(resolve, milliseconds).unref();
  const stop = (): void => resolve();
  signal.addEventListener('abort', stop, { once: true });
  try {
    await Promise.race([bell, promise]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}
