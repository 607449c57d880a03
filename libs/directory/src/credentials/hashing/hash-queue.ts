import { temporarilyUnavailable } from '@tessera/oauth';

export interface HashQueueOptions {
  /** Hashes computed at once; fewer than the threads of the pool, so that signing never waits behind them. */
  readonly concurrency: number;
  /** Sign-ins that may wait; more are rejected. */
  readonly queue: number;
  /** Sign-ins of one account that may run or wait. */
  readonly perAccount: number;
}

/** Who signs in: the queue serves addresses in turn, and bounds what each network and each account has in it. */
export interface SignInSource {
  readonly address: string;
  /** The network of the address. One subscriber may have thousands of addresses in theirs. */
  readonly network: string;
  readonly account: string;
}

interface QueuedHash {
  readonly signal: AbortSignal | undefined;
  readonly start: () => void;
  readonly reject: (error: Error) => void;
}

/** The waiting sign-ins of one address. */
interface AddressQueue {
  readonly network: string;
  readonly hashes: QueuedHash[];
}

/** A bounded queue of password hashes: sign-ins first, one address after the other, hashes of declared passwords after them. */
export class HashQueue {
  readonly #options: HashQueueOptions;
  /** Waiting sign-ins by address; the address that comes next is the first. */
  readonly #signIns = new Map<string, AddressQueue>();
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
   * the queue is full and no network, and no address of the same network, has more waiting; or later, when one with fewer needs the
   * place; and in its turn if the caller (`signal`) has left.
   */
  async run<T>(work: () => Promise<T>, source: SignInSource, signal?: AbortSignal): Promise<T> {
    const { account } = source;
    const held = this.#accounts.get(account) ?? 0;
    if (held >= this.#options.perAccount) throw busy('Too many sign-ins of this account are in progress.');
    this.#accounts.set(account, held + 1);
    try {
      return await this.#inTurn((waiting) => this.#enqueue(source, waiting), work, signal);
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

  #enqueue({ address, network }: SignInSource, waiting: QueuedHash): void {
    const own = this.#signIns.get(address) ?? { network, hashes: [] };
    if (this.#waiting >= this.#options.queue) {
      const longest = this.#longestFor(own);
      if (longest === undefined) return waiting.reject(busy('Too many passwords are being verified.'));
      longest.hashes.pop()?.reject(busy('Too many passwords are being verified for this network.'));
      this.#waiting -= 1;
    }
    own.hashes.push(waiting);
    this.#signIns.set(address, own);
    this.#waiting += 1;
  }

  /**
   * The address that gives a place of the full queue to `own`: in the network with the most waiting, or, if that is its own, in the
   * same network. Undefined if none would still have as many waiting.
   */
  #longestFor(own: AddressQueue): AddressQueue | undefined {
    const waitingOf = (network: string) => networks.get(network) ?? 0;
    const networks = new Map<string, number>();
    for (const { network, hashes } of this.#signIns.values())
      networks.set(network, waitingOf(network) + hashes.length);
    let largest = own.network;
    for (const [network, waiting] of networks) if (waiting > waitingOf(largest)) largest = network;
    const network = waitingOf(largest) > waitingOf(own.network) + 1 ? largest : own.network;
    let longest = own;
    let most = network === own.network ? own.hashes.length + 1 : 0;
    for (const queue of this.#signIns.values()) {
      if (queue.network !== network || queue.hashes.length <= most) continue;
      longest = queue;
      most = queue.hashes.length;
    }
    return longest === own ? undefined : longest;
  }

  #nextSignIn(): QueuedHash | undefined {
    for (const [address, own] of this.#signIns) {
      const next = own.hashes.shift();
      this.#signIns.delete(address);
      if (own.hashes.length > 0) this.#signIns.set(address, own);
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
