import { temporarilyUnavailable } from '@tessera/oauth';

export interface HashQueueOptions {
  /** Hashes computed at once; fewer than the threads of the pool, so that signing never waits behind them. */
  readonly concurrency: number;
  /** Sign-ins that may wait; more are rejected. */
  readonly queue: number;
}

interface QueuedHash {
  readonly signal: AbortSignal | undefined;
  readonly start: () => void;
}

/** A bounded queue of password hashes: sign-ins first, hashes of declared passwords after them. */
export class HashQueue {
  readonly #options: HashQueueOptions;
  readonly #signIns: QueuedHash[] = [];
  readonly #background: QueuedHash[] = [];
  #running = 0;

  constructor(options: HashQueueOptions) {
    this.#options = options;
  }

  /**
   * Runs `work` in its turn. Throws `temporarily_unavailable` at once if too many wait, or in its turn if the caller
   * (`signal`) has left.
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running >= this.#options.concurrency && this.#signIns.length >= this.#options.queue) {
      throw temporarilyUnavailable(new Error('Too many passwords are being verified.'));
    }
    return this.#inTurn(this.#signIns, work, signal);
  }

  /** Runs `work` after all waiting sign-ins; it is never rejected. */
  async runInBackground<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#inTurn(this.#background, work, signal);
  }

  async #inTurn<T>(queue: QueuedHash[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running >= this.#options.concurrency) {
      await new Promise<void>((start) => queue.push({ signal, start }));
    } else this.#running += 1;
    try {
      if (signal?.aborted === true) throw temporarilyUnavailable(new Error('The caller has left.'));
      return await work();
    } finally {
      const next = this.#signIns.shift() ?? this.#background.shift();
      // The slot passes to the next one directly, so that no other call can take it.
      if (next === undefined) this.#running -= 1;
      else next.start();
    }
  }
}
