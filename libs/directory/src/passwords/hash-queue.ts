import { temporarilyUnavailable } from '@tessera/oauth';

export interface HashQueueOptions {
  /** Hashes computed at once; fewer than the threads of the pool, so that signing never waits behind them. */
  readonly concurrency: number;
  /** Sign-ins that may wait; more are rejected. */
  readonly queue: number;
  /** Sign-ins of one account that may run or wait. */
  readonly perAccount: number;
}

/** Who signs in: the queue serves addresses in turn and bounds what each account has in it. */
export interface SignInSource {
  readonly address: string;
  readonly account: string;
}

interface QueuedHash {
  readonly signal: AbortSignal | undefined;
  readonly start: () => void;
  readonly reject: (error: Error) => void;
}

/** A bounded queue of password hashes: sign-ins first, one address after the other, hashes of declared passwords after them. */
export class HashQueue {
  readonly #options: HashQueueOptions;
  /** Waiting sign-ins by address; the address that comes next is the first. */
  readonly #signIns = new Map<string, QueuedHash[]>();
  readonly #background: QueuedHash[] = [];
  /** Sign-ins that run or wait, by account. */
  readonly #accounts = new Map<string, number>();
  #running = 0;
  #waiting = 0;

  constructor(options: HashQueueOptions) {
    this.#options = options;
  }

  /**
   * Runs `work` in its turn. Throws `temporarily_unavailable` at once if too many sign-ins of the account are in the queue; if
   * the queue is full and no address has more waiting than this one, or later, when an address with fewer needs the place; and
   * in its turn if the caller (`signal`) has left.
   */
  async run<T>(work: () => Promise<T>, { address, account }: SignInSource, signal?: AbortSignal): Promise<T> {
    const held = this.#accounts.get(account) ?? 0;
    if (held >= this.#options.perAccount) throw busy('Too many sign-ins of this account are in progress.');
    this.#accounts.set(account, held + 1);
    try {
      return await this.#inTurn((waiting) => this.#enqueue(address, waiting), work, signal);
    } finally {
      const left = (this.#accounts.get(account) ?? 1) - 1;
      if (left === 0) this.#accounts.delete(account);
      else this.#accounts.set(account, left);
    }
  }

  /** Runs `work` after all waiting sign-ins; it is never rejected. */
  async runInBackground<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return this.#inTurn((waiting) => void this.#background.push(waiting), work, signal);
  }

  async #inTurn<T>(
    enqueue: (waiting: QueuedHash) => void,
    work: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T> {
    if (this.#running >= this.#options.concurrency) {
      await new Promise<void>((start, reject) => enqueue({ signal, start, reject }));
    } else this.#running += 1;
    try {
      if (signal?.aborted === true) throw busy('The caller has left.');
      return await work();
    } finally {
      const next = this.#nextSignIn() ?? this.#background.shift();
      // The slot passes to the next one directly, so that no other call can take it.
      if (next === undefined) this.#running -= 1;
      else next.start();
    }
  }

  #enqueue(address: string, waiting: QueuedHash): void {
    const own = this.#signIns.get(address) ?? [];
    if (this.#waiting >= this.#options.queue) {
      const longest = [...this.#signIns.values()].reduce(
        (one, other) => (other.length > one.length ? other : one),
        own,
      );
      if (longest.length <= own.length + 1)
        return waiting.reject(busy('Too many passwords are being verified.'));
      longest.pop()?.reject(busy('Too many passwords are being verified for this address.'));
      this.#waiting -= 1;
    }
    own.push(waiting);
    this.#signIns.set(address, own);
    this.#waiting += 1;
  }

  #nextSignIn(): QueuedHash | undefined {
    for (const [address, own] of this.#signIns) {
      const next = own.shift();
      this.#signIns.delete(address);
      if (own.length > 0) this.#signIns.set(address, own);
      if (next === undefined) continue;
      this.#waiting -= 1;
      return next;
    }
    return undefined;
  }
}

function busy(cause: string): Error {
  return temporarilyUnavailable(new Error(cause));
}
