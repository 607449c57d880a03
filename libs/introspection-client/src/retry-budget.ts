const capacity = 1_000;

/**
 * Limits what retries add to the load of a server in trouble (gRFC A6): every failure takes one token, every good call
 * gives back a tenth, and nothing is tried again while half of them are gone. The calls in flight of one lost replica
 * fit in.
 */
export class RetryBudget {
  #tokens = capacity;

  succeeded(): void {
    this.#tokens = Math.min(capacity, this.#tokens + 0.1);
  }

  /** Counts the failure and says whether the call may be tried again. */
  failed(): boolean {
    this.#tokens = Math.max(0, this.#tokens - 1);
    return this.#tokens > capacity / 2;
  }
}
