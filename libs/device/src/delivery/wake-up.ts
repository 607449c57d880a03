/** Tells any number of listeners that there may be something to do. */
export class Bell {
  #rings = 0;
  readonly #waiters = new Set<() => void>();

  /** How often it rang. To be had before one looks whether there is something to do. */
  get rings(): number {
    return this.#rings;
  }

  /** How many wait now. */
  get waiting(): number {
    return this.#waiters.size;
  }

  ring(): void {
    this.#rings += 1;
    for (const wake of this.#waiters) wake();
  }

  /**
   * Resolves when it has rung more often than `heard`, after `milliseconds`, or when `signal` is aborted; whichever is first.
   * The bell outlives those who wait, so they leave nothing behind in it.
   */
  async wait(heard: number, milliseconds: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#rings > heard) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    const timer = setTimeout(wake, milliseconds).unref();
    signal.addEventListener('abort', wake, { once: true });
    this.#waiters.add(wake);
    try {
      await promise;
    } finally {
      this.#waiters.delete(wake);
      clearTimeout(timer);
      signal.removeEventListener('abort', wake);
    }
  }
}
