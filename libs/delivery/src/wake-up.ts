/** Wakes any number of waiters when there may be something to do. */
export class WakeUpSignal {
  #notifications = 0;
  readonly #waiters = new Set<() => void>();

  /** How many notifications there were so far. Read it before looking for something to do. */
  get notifications(): number {
    return this.#notifications;
  }

  /** How many callers wait now. */
  get waiters(): number {
    return this.#waiters.size;
  }

  notify(): void {
    this.#notifications += 1;
    for (const wake of this.#waiters) wake();
  }

  /**
   * Resolves at the first of three: there were more notifications than `seen`, `milliseconds` have passed, or `signal` is
   * aborted. A waiter removes itself when it is done, because the signal outlives it.
   */
  async wait(seen: number, milliseconds: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted || this.#notifications > seen) return;
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
