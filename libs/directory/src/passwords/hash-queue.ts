import { temporarilyUnavailable } from '@tessera/oauth';

export interface HashGateOptions {
  /** How many hashes are computed at once; below the thread pool's size, so that signing never waits behind them. */
  readonly concurrency: number;
  /** How many people may wait; the rest is told to come back. */
  readonly queue: number;
}

interface Waiting {
  readonly signal: AbortSignal | undefined;
  readonly start: () => void;
}

/** Bounds how much slow hashing goes on at once. */
export class HashGate {
  readonly #options: HashGateOptions;
  readonly #people: Waiting[] = [];
  readonly #background: Waiting[] = [];
  #running = 0;

  constructor(options: HashGateOptions) {
    this.#options = options;
  }

  /**
   * Runs `work` when its turn comes. Throws `temporarily_unavailable` at once when too many wait, or when the caller
   * (`signal`) has gone by then.
   */
  async run<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running >= this.#options.concurrency && this.#people.length >= this.#options.queue) {
      throw temporarilyUnavailable(new Error('Too many passwords are being verified.'));
    }
    return this.#inTurn(this.#people, work, signal);
  }

  /** Runs `work` after everyone who waits in person; it is never refused. */
  async runInBackground<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#inTurn(this.#background, work, signal);
  }

  async #inTurn<T>(queue: Waiting[], work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    if (this.#running >= this.#options.concurrency) {
      await new Promise<void>((start) => queue.push({ signal, start }));
    } else this.#running += 1;
    try {
      if (signal?.aborted === true) throw temporarilyUnavailable(new Error('The caller has gone.'));
      return await work();
    } finally {
      const next = this.#people.shift() ?? this.#background.shift();
      // The place is handed on, not given back: nobody can slip in between.
      if (next === undefined) this.#running -= 1;
      else next.start();
    }
  }
}
