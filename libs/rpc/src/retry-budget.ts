/**
 * Limits what retries add to the load of a peer in trouble, as gRPC's retry throttling does (gRFC A6): every failed
 * call takes one token, every good one gives back a tenth, and retries stop while half of the tokens are gone.
 */
export class RetryBudget {
  static readonly #capacity = 10;
  #tokens = RetryBudget.#capacity;

  succeeded(): void {
    this.#tokens = Math.min(RetryBudget.#capacity, this.#tokens + 0.1);
  }

  /** Counts the failure and says whether the call may be tried again. */
  failed(): boolean {
    this.#tokens = Math.max(0, this.#tokens - 1);
    return this.#tokens > RetryBudget.#capacity / 2;
  }
}
