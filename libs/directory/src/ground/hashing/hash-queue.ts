import { addAbortListener } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { busy } from './busy.ts';
import { mostMemory, ownCost, type HashCost } from './cost.ts';
import { FairLine, type SignInSource } from './fair-line.ts';

export type { SignInSource } from './fair-line.ts';

export interface HashQueueOptions {
  /** Hashes computed at once; fewer than the threads of the pool, so that signing never waits behind them. */
  readonly concurrency: number;
  /** Sign-ins that may wait; more are rejected. */
  readonly queue: number;
  /** Sign-ins of one account that may run or wait. */
  readonly perAccount: number;
  /** KiB that dear hashes may take together; those of ours take theirs besides. Default: what the dearest one takes. */
  readonly dearMemory?: number;
  /**
   * When refused callers of dear hashes are told, because who is told sooner asks again sooner: after so many
   * milliseconds, and so many more for each other who is not told yet. Default: at once.
   */
  readonly refusals?: { readonly afterMs: number; readonly apartMs: number };
}

interface Turn {
  readonly cost?: HashCost;
  readonly signal?: AbortSignal | undefined;
}

interface QueuedHash {
  readonly cost: HashCost;
  readonly start: () => void;
  readonly reject: (error: Error) => void;
}

/** Dear hashes of one tenant that may wait; more would not have their turn before their callers leave. */
const waitingPerTenant = 8;

/** Refused callers of dear hashes who are told later: few enough that load shedding has places for others. */
const mostRefusedLater = 128;

/** Passwords that administrators or files set, and may wait. */
const mostBackground = 1_000;

/** Of dear hashes that an administrator or a file asks for; no tenant has this name. */
const backgroundLane = '';

/**
 * A bounded queue of password hashes: sign-ins first, one address after the other, hashes of declared passwords after
 * them. Dear hashes have a lane: one place for each tenant, half of all places and a bounded memory together, so that
 * no tenant can make the others wait for its hashes or end the process.
 */
export class HashQueue {
  readonly #options: HashQueueOptions;
  readonly #dearMemory: number;
  readonly #dearPlaces: number;
  readonly #signIns: FairLine<QueuedHash>;
  /** Waiting dear hashes by tenant; the tenant that comes next is the first. */
  readonly #dear = new Map<string, FairLine<QueuedHash>>();
  /** Its addresses are tenants. */
  readonly #background = new FairLine<QueuedHash>(mostBackground);
  /** Sign-ins that run or wait, by account. */
  readonly #accounts = new Map<string, number>();
  /** Tenants with a dear hash that runs, and the KiB it takes. */
  readonly #dearRunning = new Map<string, number>();
  #running = 0;
  /** Refused callers of dear hashes who are not told yet. */
  #refusedLater = 0;
  /** Whether the last one to start was dear, so that the others come next. */
  #wasDear = false;

  constructor(options: HashQueueOptions) {
    this.#options = options;
    this.#dearMemory = Math.max(options.dearMemory ?? 0, mostMemory);
    this.#dearPlaces = Math.max(1, Math.floor(options.concurrency / 2));
    this.#signIns = new FairLine(options.queue);
  }

  /**
   * Runs `work` in its turn. Throws `temporarily_unavailable` at once if too many sign-ins of the account are in the
   * queue; if the queue, or that of the tenant's dear hashes, is full and no network, and no address of the same
   * network, has more waiting; or later, when one with fewer needs the place; and as soon as the caller (`signal`)
   * leaves before its turn. Of dear hashes the refusal takes a moment.
   */
  async run<T>(work: () => Promise<T>, source: SignInSource, turn: Turn = {}): Promise<T> {
    let begun = false;
    const begin = async () => {
      begun = true;
      return work();
    };
    try {
      return await this.#runOfAccount(begin, source, turn);
    } catch (error) {
      if (turn.cost?.isDear === true && !begun) await this.#refuseLater(turn.signal);
      throw error;
    }
  }

  async #runOfAccount<T>(
    work: () => Promise<T>,
    source: SignInSource,
    { cost = ownCost, signal }: Turn,
  ): Promise<T> {
    const { account, address, tenant } = source;
    const held = this.#accounts.get(account) ?? 0;
    if (held >= this.#options.perAccount) throw busy('Too many sign-ins of this account are in progress.');
    this.#accounts.set(account, held + 1);
    try {
      const line = cost.isDear ? this.#laneOf(tenant) : this.#signIns;
      const waits = {
        enqueue: (waiting: QueuedHash) => line.add(source, waiting),
        leave: (waiting: QueuedHash) => line.remove(address, waiting),
      };
      return await this.#inTurn(waits, work, { cost, signal, tenant });
    } finally {
      const left = (this.#accounts.get(account) ?? 1) - 1;
      if (left === 0) this.#accounts.delete(account);
      else this.#accounts.set(account, left);
    }
  }

  /**
   * Runs `work` after all waiting sign-ins, one tenant after the other. Throws `temporarily_unavailable` as soon as the
   * caller leaves; at once if a thousand others wait and no tenant has more of them, or later, when one with fewer
   * needs the place.
   */
  async runInBackground<T>(
    work: () => Promise<T>,
    tenantId: string,
    { cost = ownCost, signal }: Turn = {},
  ): Promise<T> {
    const waits = {
      enqueue: (waiting: QueuedHash) =>
        this.#background.add({ address: tenantId, network: tenantId }, waiting),
      leave: (waiting: QueuedHash) => this.#background.remove(tenantId, waiting),
    };
    return this.#inTurn(waits, work, { cost, signal, tenant: backgroundLane });
  }

  async #inTurn<T>(
    { enqueue, leave }: Record<'enqueue' | 'leave', (waiting: QueuedHash) => void>,
    work: () => Promise<T>,
    { cost, signal, tenant }: { cost: HashCost; signal: AbortSignal | undefined; tenant: string },
  ): Promise<T> {
    if (signal?.aborted === true) throw busy('The caller has left.');
    if (this.#hasPlace(cost, tenant) && !(cost.isDear && this.#anotherIsNext())) this.#take(cost, tenant);
    else {
      const { promise, resolve: start, reject } = Promise.withResolvers<void>();
      const waiting = { cost, start, reject };
      enqueue(waiting);
      const leaving =
        signal &&
        addAbortListener(signal, () => {
          leave(waiting);
          reject(busy('The caller has left.'));
        });
      await promise.finally(() => leaving?.[Symbol.dispose]());
    }
    try {
      return await work();
    } finally {
      this.#running -= 1;
      if (cost.isDear) this.#dearRunning.delete(tenant);
      this.#startNext();
    }
  }

  /** Resolves when a refused caller is to be told, or has left. */
  async #refuseLater(signal: AbortSignal | undefined): Promise<void> {
    const { refusals } = this.#options;
    if (refusals === undefined || this.#refusedLater >= mostRefusedLater) return;
    const ms = refusals.afterMs + refusals.apartMs * this.#refusedLater;
    this.#refusedLater += 1;
    await sleep(ms, undefined, { signal, ref: false }).catch(() => undefined);
    this.#refusedLater -= 1;
  }

  #laneOf(tenant: string): FairLine<QueuedHash> {
    const lane = this.#dear.get(tenant) ?? new FairLine<QueuedHash>(waitingPerTenant);
    this.#dear.set(tenant, lane);
    return lane;
  }

  /**
   * Whether a tenant without a place has its turn before a dear hash that comes now: it may need more memory than is
   * free.
   */
  #anotherIsNext(): boolean {
    for (const [tenant, lane] of this.#dear) if (lane.size > 0 && !this.#dearRunning.has(tenant)) return true;
    return false;
  }

  #hasPlace({ isDear, memory }: HashCost, tenant: string): boolean {
    if (this.#running >= this.#options.concurrency) return false;
    if (!isDear) return true;
    if (this.#dearRunning.size >= this.#dearPlaces || this.#dearRunning.has(tenant)) return false;
    let taken = memory;
    for (const other of this.#dearRunning.values()) taken += other;
    return taken <= this.#dearMemory;
  }

  #take({ isDear, memory }: HashCost, tenant: string): void {
    this.#running += 1;
    this.#wasDear = isDear;
    if (isDear) this.#dearRunning.set(tenant, memory);
  }

  /** The places are given before anything else runs, so that no other call can take them. */
  #startNext(): void {
    while (this.#running < this.#options.concurrency) {
      const started = this.#wasDear
        ? this.#startSignIn() || this.#startDear()
        : this.#startDear() || this.#startSignIn();
      if (!started && !this.#startBackground()) return;
    }
  }

  #startSignIn(): boolean {
    const next = this.#signIns.shift();
    if (next === undefined) return false;
    this.#take(next.cost, '');
    next.start();
    return true;
  }

  #startDear(): boolean {
    for (const [tenant, lane] of this.#dear) {
      const next = lane.first();
      if (next === undefined) this.#dear.delete(tenant);
      if (next === undefined || this.#dearRunning.has(tenant)) continue;
      // The tenants have their turns, so that one that needs much memory gets it too.
      if (!this.#hasPlace(next.cost, tenant)) return false;
      lane.shift();
      this.#dear.delete(tenant);
      if (lane.size > 0) this.#dear.set(tenant, lane);
      this.#take(next.cost, tenant);
      next.start();
      return true;
    }
    return false;
  }

  #startBackground(): boolean {
    const next = this.#background.shift(({ cost }) => this.#hasPlace(cost, backgroundLane));
    if (next === undefined) return false;
    this.#take(next.cost, backgroundLane);
    next.start();
    return true;
  }
}
